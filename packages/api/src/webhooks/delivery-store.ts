/**
 * The deliveries of a workspace: one for each event and webhook, with how it went. A workspace has a bounded number of them,
 * and the oldest go first, even those that still wait. So an address that never answers fills nothing but its own list.
 */
import type { ShardNames } from '@sluice/shared/redis/key-names';
import { loadScript } from '@sluice/shared/redis/script';
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
  /** What the message says beside the id. */
  details?: Record<string, unknown>;
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

const addScript = loadScript<
  [current: string, ...evicted: string[]],
  { orderKey: string; deliveriesKey: string },
  { id: string; at: number; delivery: string }
>(import.meta.url, 'add-delivery');

const updateScript = loadScript<0 | 1, { deliveriesKey: string }, { id: string; delivery: string }>(
  import.meta.url,
  'update-delivery',
);

export class DeliveryStore {
  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
  ) {}

  async add(workspace: string, delivery: Delivery): Promise<{ current: Delivery; evicted: string[] }> {
    const { names } = this;
    const keys = {
      orderKey: names.webhookOrder(workspace),
      deliveriesKey: names.webhookDeliveries(workspace),
    };
    const args = { id: delivery.id, at: Math.round(delivery.at), delivery: JSON.stringify(delivery) };
    const [current, ...evicted] = await addScript(this.redis, keys, args);
    return { current: JSON.parse(current) as Delivery, evicted };
  }

  async find(workspace: string, id: string): Promise<Delivery | undefined> {
    const text = await this.redis.hget(this.names.webhookDeliveries(workspace), id);
    return text === null ? undefined : (JSON.parse(text) as Delivery);
  }

  async update(workspace: string, delivery: Delivery): Promise<void> {
    const keys = { deliveriesKey: this.names.webhookDeliveries(workspace) };
    await updateScript(this.redis, keys, { id: delivery.id, delivery: JSON.stringify(delivery) });
  }

  /** Newest first. */
  async list(workspace: string, limit: number): Promise<Delivery[]> {
    const newest = await this.redis.zrange(this.names.webhookOrder(workspace), String(-limit), '-1');
    if (newest.length === 0) return [];
    const texts = await this.redis.hmget(this.names.webhookDeliveries(workspace), ...newest.reverse());
    return texts.flatMap((text) => (text === null ? [] : (JSON.parse(text) as Delivery)));
  }
}
