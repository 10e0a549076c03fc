/**
 * The end of a request, and the steps between its entries. Each is one script: it happens whole or not at all.
 *
 * A request is in exactly one job at a time: `<request id>-<entry>` on the queue of that entry's provider. The job's
 * hash carries a field `closed` once the job has nothing left to do: `moved` (the next entry has the request) or the
 * token of the run that settled it. A job that runs again after a crash, and a frozen worker that wakes up late, find
 * the job closed or gone and change nothing.
 *
 * A job's hash vanishes when the job completes. That is enough for a request that stays at its first entry; one that
 * moved on leaves a `settled` key for a while, because an earlier entry's job may still come back after a crash.
 */
import type { Redis } from 'ioredis';
import { dayOf, monthOf } from './calendar.js';
import type { Attempt, ChatJob, ReplyHead } from './job.js';
import type { KeyNames } from './key-names.js';
import type { LogEntry } from './request-log.js';
import {
  missingScript,
  moveScript,
  type SettleResult,
  settleScript,
  withdrawScript,
} from './settle-scripts.js';
import { reservationOf } from './workspace-limits.js';

export interface Settlement {
  job: ChatJob;
  log: LogEntry;
  head: ReplyHead;
  /** The response body, serialised. Absent on an error. */
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

  /** `settled` also when this very run had settled already: a command is sent again after a reconnect. */
  settle({ job, log, head, body }: Settlement, by: Settler): Promise<SettleResult> {
    const served = log.served;
    const keys = [
      ...this.jobKeys(job),
      this.names.requestLog,
      this.names.ledger(dayOf(log.settledAt)),
      this.names.inbox(job.inbox),
      this.names.spent(job.workspace),
      this.names.reservations(job.workspace),
      this.names.reserved(job.workspace),
    ];
    if (job.idempotency !== undefined) keys.push(this.names.idempotency(job.workspace, job.idempotency));
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
    ]);
  }

  /** Worker: this entry is done with and the next one gets the request. Tells the api, which minds the waiting time. */
  async move(job: ChatJob, next: NextEntry): Promise<boolean> {
    const [jobKey, , , settledKey] = this.jobKeys(job);
    const keys = [jobKey, settledKey, this.names.inbox(job.inbox)];
    return (await moveScript(this.redis, keys, [job.requestId, JSON.stringify(next)])) === 'moved';
  }

  /** Api: takes a job that is still waiting off its queue; what becomes of the request is then the api's to say. */
  withdraw(job: ChatJob): Promise<'withdrawn' | 'running' | 'gone'> {
    return withdrawScript(this.redis, this.jobKeys(job), [jobIdOf(job)]);
  }

  /** Worker: what an earlier run of this request left behind. */
  async stateOf(job: ChatJob): Promise<'open' | 'settled' | NextEntry> {
    const [jobKey, , , settledKey] = this.jobKeys(job);
    const [[closed, next], settled] = await Promise.all([
      this.redis.hmget(jobKey, 'closed', 'next'),
      this.redis.exists(settledKey),
    ]);
    if (settled) return 'settled';
    if (!closed) return 'open';
    return closed === 'moved' && next ? (JSON.parse(next) as NextEntry) : 'settled';
  }

  /** Api: which of these jobs Redis does not have. */
  async missing(jobs: readonly ChatJob[]): Promise<ChatJob[]> {
    const keys = jobs.map((job) => this.jobKeys(job)[0]);
    const absent = new Set(keys.length > 0 ? await missingScript(this.redis, keys, []) : []);
    return jobs.filter((_, i) => absent.has(i));
  }

  private jobKeys(job: ChatJob): [job: string, wait: string, prioritized: string, settled: string] {
    const provider = providerOf(job);
    return [
      this.names.queueKey(provider, jobIdOf(job)),
      this.names.queueKey(provider, 'wait'),
      this.names.queueKey(provider, 'prioritized'),
      this.names.settled(job.requestId),
    ];
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

/** A row of a day's ledger; its columns stand behind it in the day's hash (`<row>:cost`). */
export function ledgerRow(workspace: string, route: string | null, provider: string, model: string): string {
  return JSON.stringify([workspace, route, provider, model]);
}
