/** What an api process has of one shard: its queues, its memory, and the inbox for the replies that come from there. */
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import type { AnnouncedLimits } from '@sluice/shared/queue/announced-limits';
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { recordParts } from '@sluice/shared/queue/settle';
import { RedisClock } from '@sluice/shared/redis/clock';
import { FIRST_SHARD, namesOfShard, type Shard } from '@sluice/shared/redis/shard';
import type { Redis } from 'ioredis';
import { Inbox } from './inbox.js';
import type { Neighbours } from './neighbours.js';
import type { RedisMemory } from './redis-memory.js';

/** Workers divide the limits (limits/leases.ts). An api makes no calls. */
const DIVIDED = { crowded: async () => {} };

export interface ApiShard extends Shard {
  readonly queue: ChatQueue;
  readonly inbox: Inbox;
  readonly memory: RedisMemory;
  /** Whether the workspace lives here. Only a cell of several shards asks. */
  isHere?: (workspace: string) => Promise<boolean>;
  /** Whether a worker takes its jobs. */
  hasWorkers(): boolean;
  /** Reads its time. One that is away is asked again later. */
  start(): Promise<void>;
}

export interface ApiShardParts {
  cell: string;
  shards: number;
  config: GatewayConfig;
  announced: AnnouncedLimits;
  neighbours: Neighbours;
  /** Of the Redis that the shard is in. */
  memory: RedisMemory;
  inboxId: string;
  isAt(workspace: string, shard: number): Promise<boolean>;
  /** The cell's clock, which is that of the first shard. */
  control: RedisClock;
}

export function createShard(
  id: number,
  redis: Redis,
  { cell, shards, config, announced, neighbours, memory, inboxId, control, isAt }: ApiShardParts,
): ApiShard {
  const names = namesOfShard(cell, id, shards);
  const clock = id === FIRST_SHARD ? control : new RedisClock(names);
  return {
    id,
    redis,
    names,
    clock,
    queue: new ChatQueue(redis, recordParts(names, config, announced, shards > 1 ? DIVIDED : undefined)),
    inbox: new Inbox(inboxId, names),
    memory,
    ...(shards > 1 ? { isHere: (workspace) => isAt(workspace, id) } : {}),
    hasWorkers: () => neighbours.serves(id),
    start: () => (id === FIRST_SHARD ? Promise.resolve() : clock.synchronise(redis).catch(() => {})),
  };
}
