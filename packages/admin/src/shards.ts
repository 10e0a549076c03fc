/** The shards of the cell as the admin listener sees them, by its own connections. */
import type { ApiShardParts } from '@sluice/api/assemble';
import { type Directory, isLeaving } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { WorkspaceMoved } from '@sluice/shared/queue/workspace-moved';
import { FIRST_SHARD, type Shard } from '@sluice/shared/redis/shard';

export interface AdminShard
  extends Shard,
    Pick<ApiShardParts, 'files' | 'batches' | 'quotes' | 'webhooks'>,
    Pick<ApiShardParts, 'background' | 'expectations' | 'requestEnds'> {
  queue: ChatQueue;
}

const ASK_EVERY_MS = 250;
/** An operator waits so long for a workspace that moves. */
const LONGEST_WAIT_MS = 20_000;

export class AdminShards {
  constructor(
    readonly all: readonly AdminShard[],
    private readonly directory: Pick<Directory, 'findWorkspace'>,
  ) {}

  /** The shard of a workspace. One that does not exist has nothing in any. */
  async of(workspace: string): Promise<AdminShard> {
    return this.at(this.all.length > 1 ? await this.directory.findWorkspace(workspace) : undefined);
  }

  /** The same, for whoever changes something there. It waits for a workspace that moves. */
  async toChange(workspace: string): Promise<AdminShard> {
    if (this.all.length === 1) return this.at();
    for (let waitedMs = 0; ; waitedMs += ASK_EVERY_MS) {
      const record = await this.directory.findWorkspace(workspace);
      // What is changed in the shard that it leaves might be lost.
      if (!record || !isLeaving(record)) return this.at(record);
      if (waitedMs >= LONGEST_WAIT_MS) throw new WorkspaceMoved();
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    }
  }

  at(workspace: { shard?: number } = {}): AdminShard {
    const { shard = FIRST_SHARD } = workspace;
    const found = this.all[shard];
    if (!found)
      throw new GatewayError(
        'service_unavailable',
        `This process does not know shard ${shard} of the gateway.`,
      );
    return found;
  }
}

/** A sentence about the shards that are away, for people who see figures without them. */
export function lateText(late: readonly number[]): string | undefined {
  if (late.length === 0) return undefined;
  if (late.length === 1) return `Shard ${late[0]} is away, and what only it has is missing here.`;
  return `Shards ${late.join(', ')} are away, and what only they have is missing here.`;
}
