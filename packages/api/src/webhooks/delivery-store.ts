/**
 * The deliveries of a workspace: one for each event and webhook, with how it went. A workspace has a bounded number of them,
 * and the oldest go first, even those that still wait. So an address that never answers fills nothing but its own list.
 */
import type { KeyNames } from '@sluice/shared/redis/key-names';
import { createScript } from '@sluice/shared/redis/script';
import type { Redis } from 'ioredis';

export type DeliveryState = 'waiting' | 'delivered' | 'failed';

/** Times are Redis time, in ms. */
export interface Delivery {
  /** Made of the event's and the webhook's id. */
  id: string;
  webhook: string;
  /** The id of the event, and so of the message. It stays the same however often the message is sent. */
  event: string;
  type: string;
  /** The id of the batch or request that the event is about. */
  subject: string;
  /** When the event happened. */
  at: number;
  /** Since when it is tried. */
  since: number;
  state: DeliveryState;
  attempts: number;
  lastAt: number | null;
  /** How the last attempt went: `200`, `timeout`, `private_address`. Never what the address said. */
  outcome: string | null;
  nextAt: number | null;
}

const MOST_OF_WORKSPACE = 1_000;
const TTL_MS = 30 * 86_400_000;

/** KEYS: order, deliveries. Returns the delivery as it is now, and the ids of those that had to go. */
const addScript = createScript<[current: string, ...evicted: string[]]>(
  'sluiceAddDelivery',
  `
local orderKey, deliveriesKey = unpack(KEYS)
local id, at, delivery = unpack(ARGV)
local known = redis.call('HGET', deliveriesKey, id)
if known then return {known} end
local excess = redis.call('ZCARD', orderKey) + 1 - ${MOST_OF_WORKSPACE}
local evicted = excess > 0 and redis.call('ZRANGE', orderKey, 0, excess - 1) or {}
for _, oldest in ipairs(evicted) do
  redis.call('ZREM', orderKey, oldest)
  redis.call('HDEL', deliveriesKey, oldest)
end
redis.call('ZADD', orderKey, at, id)
redis.call('HSET', deliveriesKey, id, delivery)
redis.call('PEXPIRE', orderKey, ${TTL_MS})
redis.call('PEXPIRE', deliveriesKey, ${TTL_MS})
return {delivery, unpack(evicted)}
`,
);

/** KEYS: deliveries. A delivery that has gone meanwhile does not come back. */
const updateScript = createScript<0 | 1>(
  'sluiceUpdateDelivery',
  `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
`,
);

export class DeliveryStore {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
  ) {}

  async add(workspace: string, delivery: Delivery): Promise<{ current: Delivery; evicted: string[] }> {
    const { names } = this;
    const keys = [names.webhookOrder(workspace), names.webhookDeliveries(workspace)];
    const args = [delivery.id, Math.round(delivery.at), JSON.stringify(delivery)];
    const [current, ...evicted] = await addScript(this.redis, keys, args);
    return { current: JSON.parse(current) as Delivery, evicted };
  }

  async find(workspace: string, id: string): Promise<Delivery | undefined> {
    const text = await this.redis.hget(this.names.webhookDeliveries(workspace), id);
    return text === null ? undefined : (JSON.parse(text) as Delivery);
  }

  async update(workspace: string, delivery: Delivery): Promise<void> {
    const keys = [this.names.webhookDeliveries(workspace)];
    await updateScript(this.redis, keys, [delivery.id, JSON.stringify(delivery)]);
  }

  /** Newest first. */
  async list(workspace: string, limit: number): Promise<Delivery[]> {
    const newest = await this.redis.zrange(this.names.webhookOrder(workspace), String(-limit), '-1');
    if (newest.length === 0) return [];
    const texts = await this.redis.hmget(this.names.webhookDeliveries(workspace), ...newest.reverse());
    return texts.flatMap((text) => (text === null ? [] : (JSON.parse(text) as Delivery)));
  }
}
