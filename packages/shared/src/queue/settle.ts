/**
 * The end of a request, and the steps between its entries. Each is one script: it happens whole or not at all.
 *
 * A request is in exactly one job at a time: `<request id>-<entry>` on the queue of that entry's provider. Settling it
 * takes the job off its queue, hash and all; while the next entry gets the request, the hash carries a field `moved`. A
 * job that runs again after a crash, and a frozen worker that wakes up late, find the job moved or gone and change nothing.
 *
 * That is enough for a request that stays at its first entry; one that moved on leaves a `settled` key for a while,
 * because an earlier entry's job may still come back after a crash.
 */
import type { Redis } from 'ioredis';
import { dayOf, monthOf } from '../calendar.js';
import type { KeyNames } from '../redis/key-names.js';
import type { Attempt, ChatJob, ReplyHead } from './job.js';
import type { LogEntry } from './request-log.js';
import {
  missingScript,
  moveScript,
  type SettleResult,
  settleScript,
  withdrawScript,
} from './settle-scripts.js';
import { estimatedMonth, reservationOf } from './workspace-limits.js';

export interface Settlement {
  job: ChatJob;
  log: LogEntry;
  head: ReplyHead;
  /** The response body, serialised and sealed (queue/payload.ts). Absent on an error. */
  body?: string;
}

/**
 * Who ends the request: the worker that ran the job (it also replies to the api); the api that takes it off the queue
 * before anyone ran it; the api that never queued it. The api knows its caller, so it needs no reply.
 */
export type Settler = { as: 'worker'; token: string } | { as: 'withdrawer' } | { as: 'refuser' };

/** What changes when a request moves on to another entry. */
export interface NextEntry {
  entry: number;
  queuedAt: number;
  waitUntil: number;
  queueMs: number;
  attempts: Attempt[];
}

export class Settlements {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
    private readonly logSize: number,
  ) {}

  /** By a worker it also ends the job. Sent again after a reconnect, it finds the job `gone`. */
  settle({ job, log, head, body }: Settlement, by: Settler): Promise<SettleResult> {
    const served = log.served;
    const { queue, settled } = this.keysOf(job);
    const keys = [
      ...queue,
      settled,
      this.names.requestLog,
      this.names.ledger(dayOf(log.settledAt)),
      this.names.inbox(job.inbox),
      this.names.spent(job.workspace),
      this.names.reservations(job.workspace),
      this.names.reserved(job.workspace),
    ];
    if (job.idempotency !== undefined)
      keys.push(this.names.idempotency(job.workspace, job.idempotency), this.names.outcome(job.requestId));
    return settleScript(this.redis, keys, [
      by.as,
      jobIdOf(job),
      by.as === 'worker' ? by.token : by.as,
      job.entry,
      job.requestId,
      JSON.stringify(head),
      body ?? '',
      JSON.stringify(log),
      this.logSize,
      served ? ledgerRow(job.workspace, job.route, served.provider, served.model) : '',
      served?.cost ?? 0,
      served?.usage.input ?? 0,
      served?.usage.cachedInput ?? 0,
      served ? served.usage.cacheWrite + served.usage.cacheWrite1h : 0,
      served?.usage.output ?? 0,
      monthOf(log.settledAt),
      job.reserved === undefined ? '' : reservationOf(job.requestId, job.reserved),
      job.reserved ?? 0,
      ...estimates(log),
    ]);
  }

  /** Worker: this entry is done with and the next one gets the request. Tells the api, which minds the waiting time. */
  async move(job: ChatJob, next: NextEntry): Promise<boolean> {
    const { queue, settled } = this.keysOf(job);
    const keys = [queue[0], settled, this.names.inbox(job.inbox)];
    return (await moveScript(this.redis, keys, [job.requestId, JSON.stringify(next)])) === 'moved';
  }

  /** Api: takes a job that is still waiting off its queue; what becomes of the request is then the api's to say. */
  withdraw(job: ChatJob): Promise<'withdrawn' | 'running' | 'gone'> {
    const { queue, settled } = this.keysOf(job);
    const [jobKey, wait, prioritized] = queue;
    return withdrawScript(this.redis, [jobKey, wait, prioritized, settled], [jobIdOf(job)]);
  }

  /** Worker: what an earlier run of this request left behind. */
  async stateOf(job: ChatJob): Promise<'open' | 'settled' | NextEntry> {
    const { queue, settled } = this.keysOf(job);
    const [[name, moved], isSettled] = await Promise.all([
      this.redis.hmget(queue[0], 'name', 'moved'),
      this.redis.exists(settled),
    ]);
    if (isSettled || !name) return 'settled';
    return moved ? (JSON.parse(moved) as NextEntry) : 'open';
  }

  /** Api: which of these jobs Redis does not have. */
  async missing(jobs: readonly ChatJob[]): Promise<ChatJob[]> {
    const keys = jobs.map((job) => this.keysOf(job).queue[0]);
    const absent = new Set(keys.length > 0 ? await missingScript(this.redis, keys, []) : []);
    return jobs.filter((_, i) => absent.has(i));
  }

  private keysOf(job: ChatJob) {
    const provider = providerOf(job);
    const key = (name: string) => this.names.queueKey(provider, name);
    const jobKey = key(jobIdOf(job));
    const queue = [
      jobKey,
      key('wait'),
      key('prioritized'),
      key('active'),
      key('stalled'),
      key('marker'),
    ] as const;
    return { queue, settled: this.names.settled(job.requestId) };
  }
}

export function jobIdOf(job: Pick<ChatJob, 'requestId' | 'entry'>): string {
  return `${job.requestId}-${job.entry}`;
}

export function providerOf(job: Pick<ChatJob, 'chain' | 'entry'>): string {
  const entry = job.chain[job.entry];
  if (!entry) throw new Error(`the chain has no entry ${job.entry}`);
  return entry.provider;
}

/** Of each call whose bill nobody knows: its row in the ledger, and what it may have cost. Most requests have none. */
function estimates({ workspace, route, settledAt, attempts }: LogEntry): (string | number)[] {
  const unknown = attempts.filter(({ estimate }) => estimate !== undefined);
  if (unknown.length === 0) return [];
  return [
    estimatedMonth(monthOf(settledAt)),
    ...unknown.flatMap(({ provider, model, estimate = 0 }) => [
      ledgerRow(workspace, route, provider, model),
      estimate,
    ]),
  ];
}

/** A row of a day's ledger; its columns stand behind it in the day's hash (`<row>:cost`). */
export function ledgerRow(workspace: string, route: string | null, provider: string, model: string): string {
  return JSON.stringify([workspace, route, provider, model]);
}
