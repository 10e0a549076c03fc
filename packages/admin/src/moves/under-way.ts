/** What is under way for a workspace in a shard. It ends there, and the workspace moves when nothing is left. */
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { ChatJob } from '@sluice/shared/queue/job';
import type { HandedPart } from '@sluice/shared/queue/provider-batches';
import type { ShardKeys } from '@sluice/shared/redis/shard';

const READ_AT_ONCE = 100;
const MOST_EVENTS = 1_000;

export interface WatchedShard extends ShardKeys {
  queue: ChatQueue;
}

/** `planned`: the deadlines of requests that have time, and may wait for hours. */
export interface Jobs {
  all: number;
  planned: number[];
}

/** A job's workspace never changes, so each job is read once. */
export class UnderWay {
  readonly #jobs = new Map<string, 'of others' | 'plain' | { deadline: number }>();

  constructor(
    private readonly shard: WatchedShard,
    private readonly workspace: string,
    private readonly providers: ReadonlyMap<string, unknown>,
  ) {}

  async jobs(): Promise<Jobs> {
    const listed = await this.shard.queue.listJobs([...this.providers.keys()]);
    const unknown = listed.filter((key) => !this.#jobs.has(key));
    for (let i = 0; i < unknown.length; i += READ_AT_ONCE)
      await Promise.all(unknown.slice(i, i + READ_AT_ONCE).map((key) => this.#read(key)));
    const jobs: Jobs = { all: 0, planned: [] };
    for (const key of listed) {
      const whose = this.#jobs.get(key);
      // One that is gone may have moved to another queue, and counts until the next look.
      if (whose !== 'of others') jobs.all++;
      if (typeof whose === 'object') jobs.planned.push(whose.deadline);
    }
    return jobs;
  }

  async #read(key: string): Promise<void> {
    const data = await this.shard.redis.hget(key, 'data');
    if (data === null) return;
    const { workspace, plan, deadline } = JSON.parse(data) as ChatJob;
    const own = plan ? { deadline } : 'plain';
    this.#jobs.set(key, workspace === this.workspace ? own : 'of others');
  }

  /** The parts of batches that providers have. */
  async partsAtProviders(): Promise<HandedPart[]> {
    const { redis, names } = this.shard;
    const ids = await redis.zrange(names.providerBatches, '0', '-1');
    const parts = await Promise.all(ids.map((id) => redis.hget(names.providerBatch(id), 'part')));
    return parts
      .flatMap((part) => (part === null ? [] : [JSON.parse(part) as HandedPart]))
      .filter(({ workspace }) => workspace === this.workspace);
  }

  /** How many events have not been made into messages of webhooks. */
  async events(): Promise<number> {
    const { redis, names } = this.shard;
    const events = await redis.xrange(names.webhookEvents, '-', '+', 'COUNT', MOST_EVENTS);
    // There may be more, of any workspace.
    if (events.length === MOST_EVENTS) return 1;
    return events.filter(([, fields]) => fields[fields.indexOf('workspace') + 1] === this.workspace).length;
  }

  activeBatches(): Promise<string[]> {
    return activeBatchesOf(this.shard, this.workspace);
  }
}

async function activeBatchesOf({ redis, names }: ShardKeys, workspace: string): Promise<string[]> {
  const own = await redis.zrange(names.batches(workspace), '0', '-1');
  const active = new Set(await redis.zrange(names.activeBatches, '0', '-1'));
  return own.filter((id) => active.has(id));
}
