/**
 * Where workspaces live while they move from shard to shard. A caller of a workspace that moves waits here. Many of them share
 * one question to Redis. Only a cell of several shards comes here, and only for such a workspace.
 */
import { isLeaving, type WorkspaceRecord } from '@sluice/shared/directory/directory';
import { WorkspaceMoved } from '@sluice/shared/queue/workspace-moved';
import { isRedisAway } from '@sluice/shared/redis/away';
import { FIRST_SHARD } from '@sluice/shared/redis/shard';
import type { DirectoryCache } from './directory-cache.js';

const ASK_EVERY_MS = 100;

export class Homes {
  readonly #waiting = new Map<string, Promise<WorkspaceRecord | undefined>>();

  constructor(
    private readonly directory: Pick<DirectoryCache, 'confirm' | 'findWorkspace'>,
    /** For how long a caller waits at most. */
    private readonly longestMs: number,
  ) {}

  /** The workspace when it has moved, or stays after all. Undefined when it was deleted. */
  wait(id: string): Promise<WorkspaceRecord | undefined> {
    const known = this.#waiting.get(id);
    if (known) return known;
    const asking = this.#ask(id).finally(() => this.#waiting.delete(id));
    this.#waiting.set(id, asking);
    return asking;
  }

  async #ask(id: string): Promise<WorkspaceRecord | undefined> {
    const until = performance.now() + this.longestMs;
    for (;;) {
      try {
        await this.directory.confirm();
        const workspace = await this.directory.findWorkspace(id);
        if (!workspace || !isLeaving(workspace)) return workspace;
      } catch (error) {
        if (!isRedisAway(error)) throw error;
      }
      if (performance.now() > until) throw new WorkspaceMoved();
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    }
  }

  /** Whether this shard has the workspace now. One that was deleted is where its traces are. */
  async isAt(id: string, shard: number): Promise<boolean> {
    const workspace = await this.directory.findWorkspace(id);
    return !workspace || (!isLeaving(workspace) && (workspace.shard ?? FIRST_SHARD) === shard);
  }
}
