/**
 * Records which workspaces have lately called each provider, over all workers, whether or not the calls succeeded. An open
 * circuit would hurt all of them. A worker records a workspace that it has not seen before at once, because another
 * workspace's failures may come next. It records the others now and then, so that their requests pay nothing for it.
 */
import type { Redis } from 'ioredis';
import type { Clock } from '../redis/clock.js';
import type { ControlNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';

export const LATELY_MS = 300_000;
/** Few are enough, because it only matters whether there is more than one. */
const MOST = 20;
/** How many recorded workspaces a worker remembers. */
const MOST_KNOWN = 1_000;

const writeScript = loadScript<null, { callersKey: string }, { now: number; workspaces: readonly string[] }>(
  import.meta.url,
  'callers',
  { LATELY_MS, MOST_CALLERS: MOST },
);

export class Callers {
  /** Provider → workspaces. */
  readonly #seen = new Map<string, Set<string>>();
  /** `<provider> <workspace>` → when the worker recorded it. */
  readonly #written = new Map<string, number>();

  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
    private readonly clock: Clock,
  ) {}

  /** Undefined when nothing has to be written for it now. */
  saw(provider: string, workspace: string): Promise<unknown> | undefined {
    const call = `${provider} ${workspace}`;
    const now = Math.round(this.clock.now());
    const isNew = (this.#written.get(call) ?? 0) < now - LATELY_MS / 2;
    if (isNew) {
      if (this.#written.size >= MOST_KNOWN) this.#written.clear();
      this.#written.set(call, now);
      return writeScript(
        this.redis,
        { callersKey: this.names.callers(provider) },
        { now, workspaces: [workspace] },
      );
    }
    const seen = this.#seen.get(provider);
    if (!seen) this.#seen.set(provider, new Set([workspace]));
    else if (seen.size < MOST) seen.add(workspace);
    return undefined;
  }

  async write(): Promise<void> {
    const seen = [...this.#seen];
    this.#seen.clear();
    const now = Math.round(this.clock.now());
    await Promise.all(
      seen.map(([provider, workspaces]) =>
        writeScript(
          this.redis,
          { callersKey: this.names.callers(provider) },
          { now, workspaces: [...workspaces] },
        ),
      ),
    );
  }
}
