/**
 * Tells workspaces by webhooks how their batches and requests in the background ended, and how far budgets are spent:
 *
 *   the step that ends it ─► event (stream) ─► a delivery for each webhook, and a BullMQ job for it ─► one message, or several
 *
 * Each arrow may be repeated by another process when one dies: an event leaves the stream when its deliveries are there, and
 * a job its queue when the message is delivered or given up. So a message comes at least once, under one id.
 */

import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import type { EventType } from '@sluice/shared/contract/webhook';
import type { Logger } from '@sluice/shared/process/logger';
import { isRedisAway } from '@sluice/shared/redis/away';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import { BLOCK_MS } from '@sluice/shared/redis/redis';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { budgetDetails } from './budget-details.js';
import type { Delivery, DeliveryStore } from './delivery-store.js';
import { retryWait, TRIED_FOR_MS } from './retry-wait.js';
import { sendMessage } from './send-message.js';
import { TEST_EVENT, type Webhook, type WebhookStore } from './webhook-store.js';

import bullmq = require('bullmq');

const QUEUE = 'webhooks';
const AT_ONCE = 100;
/** A workspace has no more deliveries (lua/add-delivery.lua). */
const MOST_TAKEN_UP = 1_000;
const HOLDS_MS = 10_000;
/** The messages of a process that are under way, and those of one workspace. They only wait for an answer. */
const MOST = 200;
const MOST_OF_WORKSPACE = 4;
/** A delivery that found its workspace's places taken looks again after a time between one and two of these. */
const CROWDED_MS = 3_000;
/** A job fails only when Redis does not answer. A job that has failed for good is gone, and so is its message. */
const MOST_FAILURES = 1_000;
const LOCK_MS = 15_000;
const STALLED_INTERVAL_MS = 5_000;
/** A wake-up can be lost with a connection, so an idle worker also looks by itself this often. */
const LOOK_EVERY_S = BLOCK_MS / 1000;

export type DeliveryOutcome = 'delivered' | 'failed' | 'given_up' | 'dropped';

interface DeliveryJob {
  workspace: string;
  delivery: string;
}

export interface WebhooksParts {
  redis: Redis;
  names: ShardNames;
  clock: Clock;
  store: WebhookStore;
  deliveries: DeliveryStore;
  config: GatewayConfig['webhooks'];
  logger: Logger;
  metrics: { webhook(outcome: DeliveryOutcome): void };
}

/** BullMQ would block for ten seconds while messages wait for their next try, and the connection would end as a silent one. */
class Deliverer extends bullmq.Worker<DeliveryJob> {
  override get maximumBlockTimeout(): number {
    return BLOCK_MS / 1000;
  }
}

export class Webhooks {
  readonly #queue: Queue<DeliveryJob>;
  #connection: Redis | undefined;
  #worker: Deliverer | undefined;
  readonly #underWay = new Map<string, number>();

  constructor(private readonly parts: WebhooksParts) {
    const { redis, names, config } = parts;
    this.#queue = new bullmq.Queue(QUEUE, {
      connection: redis,
      prefix: names.webhookQueuePrefix,
      streams: { events: { maxLen: 100 } },
      defaultJobOptions: {
        attempts: MOST_FAILURES,
        backoff: { type: 'fixed', delay: config.firstRetryMs },
        stackTraceLimit: 1,
        removeOnComplete: true,
        removeOnFail: true,
      },
    });
    this.#queue.on('error', () => {});
  }

  get store(): WebhookStore {
    return this.parts.store;
  }

  get deliveries(): DeliveryStore {
    return this.parts.deliveries;
  }

  get config(): GatewayConfig['webhooks'] {
    return this.parts.config;
  }

  /** From now on messages are sent by this connection. BullMQ makes another one like it, on which it waits. */
  start(connection: Redis): void {
    this.#connection = connection;
  }

  /** Waiting for messages costs an idle process as much as its other chores, and most cells have none. */
  async sendIfUsed(): Promise<void> {
    const { redis, names } = this.parts;
    // The queue counts what was ever added to it.
    if (!this.#worker && (await redis.exists(names.webhookQueueKey('id'))) === 1) this.#send();
  }

  #send(): void {
    const connection = this.#connection;
    if (!connection || this.#worker) return;
    this.#worker = new Deliverer(QUEUE, (job, token) => this.#deliver(job, token), {
      connection,
      prefix: this.parts.names.webhookQueuePrefix,
      concurrency: MOST,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_INTERVAL_MS,
      // The delivery's record says when it has been tried long enough.
      maxStalledCount: 1_000,
      drainDelay: LOOK_EVERY_S,
    });
    this.#worker.on('error', (error) => {
      if (!isRedisAway(error)) this.parts.logger.warn({ error: String(error) }, 'webhooks cannot be sent');
    });
  }

  /** Messages that are under way may end. */
  async close(): Promise<void> {
    this.#connection = undefined;
    await this.#worker?.close();
    await this.#queue.close();
  }

  /** Makes deliveries of the events that have happened. One process does it at a time. */
  async look(): Promise<void> {
    const { redis, names } = this.parts;
    const read = () => redis.xrange(names.webhookEvents, '-', '+', 'COUNT', AT_ONCE);
    let entries = await read();
    if (entries.length === 0) return;
    const taken = await redis.set(names.webhookLock, '1', 'PX', HOLDS_MS, 'NX');
    if (taken !== 'OK') return;
    try {
      for (
        const began = performance.now();
        performance.now() - began < HOLDS_MS / 2;
        entries = await read()
      ) {
        for (const [entryId, fields] of entries) {
          await this.#spread(fields);
          await redis.xdel(names.webhookEvents, entryId);
        }
        if (entries.length < AT_ONCE) return;
      }
    } finally {
      await redis.del(names.webhookLock);
    }
  }

  /** Sends a test event to one webhook. */
  test(workspace: string, webhook: Webhook): Promise<Delivery> {
    const at = this.parts.clock.now();
    return this.#add(workspace, webhook, { type: TEST_EVENT, subject: webhook.id, at });
  }

  /** Sends a message again, now, under its id. */
  async resend(workspace: string, delivery: Delivery): Promise<Delivery> {
    const since = this.parts.clock.now();
    const again: Delivery = { ...delivery, state: 'waiting', since, attempts: 0, nextAt: null };
    await this.parts.deliveries.update(workspace, again);
    const job = await this.#queue.getJob(delivery.id);
    // The job may have become due or ended just now. Then it is not delayed any more, and BullMQ refuses.
    const isPromoted = await job?.promote().then(
      () => true,
      (error) => {
        if (isRedisAway(error)) throw error;
        return false;
      },
    );
    if (!isPromoted) await this.#enqueue(workspace, delivery.id);
    return again;
  }

  /** Takes up the deliveries of a workspace that has come from another shard. */
  async takeUp(workspace: string): Promise<void> {
    const now = this.parts.clock.now();
    for (const { id, state, nextAt } of await this.parts.deliveries.list(workspace, MOST_TAKEN_UP)) {
      if (state !== 'waiting') continue;
      const delay = Math.max(0, Math.round((nextAt ?? now) - now));
      await this.#queue.add('deliver', { workspace, delivery: id }, { jobId: id, delay });
    }
  }

  async #spread(fields: readonly string[]): Promise<void> {
    // A workspace may be called like a field.
    const value = (name: string) => fields.find((_, i) => i % 2 === 1 && fields[i - 1] === name) ?? '';
    const workspace = value('workspace');
    const type = value('type') as EventType;
    const at = Number(value('at'));
    const details = type === 'budget.threshold' ? budgetDetails(value('details'), at) : undefined;
    const event = { type, subject: value('subject'), at, ...(details ? { details } : {}) };
    for (const webhook of await this.parts.store.list(workspace))
      if (webhook.events.includes(type)) await this.#add(workspace, webhook, event);
  }

  async #add(
    workspace: string,
    webhook: Webhook,
    { type, subject, at, details }: Pick<Delivery, 'type' | 'subject' | 'at' | 'details'>,
  ): Promise<Delivery> {
    // An event that is read twice has the same id. A test is a new event each time.
    const event = `evt_${type === TEST_EVENT ? makeRequestId() : subject.slice(subject.indexOf('_') + 1)}`;
    const { current, evicted } = await this.parts.deliveries.add(workspace, {
      id: `${event}-${webhook.id}`,
      webhook: webhook.id,
      event,
      type,
      subject,
      ...(details ? { details } : {}),
      at,
      since: this.parts.clock.now(),
      state: 'waiting',
      attempts: 0,
      lastAt: null,
      outcome: null,
      nextAt: null,
    });
    for (const id of evicted) if ((await this.#queue.remove(id)) === 1) this.parts.metrics.webhook('dropped');
    if (current.state === 'waiting') await this.#enqueue(workspace, current.id);
    return current;
  }

  /** A job that is there already is not added again. */
  async #enqueue(workspace: string, delivery: string): Promise<void> {
    await this.#queue.add('deliver', { workspace, delivery }, { jobId: delivery });
    this.#send();
  }

  async #deliver(job: Job<DeliveryJob>, token: string | undefined): Promise<void> {
    const { workspace } = job.data;
    const places = this.#underWay.get(workspace) ?? 0;
    if (places >= MOST_OF_WORKSPACE) return putOff(job, token, CROWDED_MS * (1 + Math.random()));
    this.#underWay.set(workspace, places + 1);
    try {
      const waitMs = await this.#attempt(workspace, job.data.delivery);
      if (waitMs !== undefined) await putOff(job, token, waitMs);
    } finally {
      const left = (this.#underWay.get(workspace) ?? 1) - 1;
      if (left > 0) this.#underWay.set(workspace, left);
      else this.#underWay.delete(workspace);
    }
  }

  /** Undefined: it is over. Otherwise how long to wait for the next attempt. */
  async #attempt(workspace: string, id: string): Promise<number | undefined> {
    const { store, deliveries, clock, config, metrics } = this.parts;
    const delivery = await deliveries.find(workspace, id);
    if (delivery?.state !== 'waiting') return undefined;
    const webhook = await store.find(workspace, delivery.webhook);
    if (!webhook) {
      await deliveries.update(workspace, { ...delivery, state: 'failed', outcome: 'removed', nextAt: null });
      metrics.webhook('dropped');
      return undefined;
    }
    const { as, outcome } = await sendMessage(webhook, delivery, {
      allowPrivate: config.allowPrivateAddresses,
      timeoutMs: config.timeoutMs,
    });
    const now = clock.now();
    const attempts = delivery.attempts + 1;
    const tried = { ...delivery, attempts, outcome, lastAt: now, nextAt: null };
    if (as === 'delivered') {
      await deliveries.update(workspace, { ...tried, state: 'delivered' });
      metrics.webhook('delivered');
      return undefined;
    }
    const waitMs = retryWait(attempts, config.firstRetryMs);
    if (as === 'gone' || now + waitMs > delivery.since + TRIED_FOR_MS) {
      await deliveries.update(workspace, { ...tried, state: 'failed' });
      metrics.webhook('given_up');
      return undefined;
    }
    await deliveries.update(workspace, { ...tried, nextAt: now + waitMs });
    metrics.webhook('failed');
    return waitMs;
  }
}

/** BullMQ learns from the error that the job is not over. */
async function putOff(job: Job, token: string | undefined, waitMs: number): Promise<never> {
  await job.moveToDelayed(Date.now() + Math.round(waitMs), token);
  throw new bullmq.DelayedError();
}
