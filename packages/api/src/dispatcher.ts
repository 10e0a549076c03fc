/**
 * An accepted request, from the queue to its reply, as the api process sees it.
 *
 *   enter an entry's queue ──reply─────────────────────────────────► answered
 *     │      ▲  └─ the worker moved it to the next entry (a notice) ─┐
 *     │      └───────────────────────────────────────────────────────┘
 *     ├─ cooling down, backlog full, wait run out ─► enter the next entry, or answered with rate_limited
 *     └─ deadline ─► answered with provider_timeout
 *
 * The dispatcher owns the pending requests and the one timer each has. A request leaves here once, by `#end`.
 */
import { countCalls, describeAttempts } from '@sluice/shared/attempts';
import type { ChatRequest } from '@sluice/shared/chat';
import type { Clock } from '@sluice/shared/clock';
import type { CoolDowns } from '@sluice/shared/cool-downs';
import { GatewayError } from '@sluice/shared/errors';
import type { AttemptOutcome, ChainEntry, ChatJob, OnCrash, ReplyHead } from '@sluice/shared/job';
import type { Queues } from '@sluice/shared/queues';
import { failedLogEntry } from '@sluice/shared/request-log';
import { type NextEntry, providerOf, type Settlements, type Settler } from '@sluice/shared/settle';
import type { SettleResult } from '@sluice/shared/settle-scripts';
import type { Congestion } from './congestion.js';
import type { InboxMessage } from './inbox.js';

/** How long after the deadline a worker's own answer is still waited for: it says more than ours. */
const DEADLINE_GRACE_MS = 100;
/** A job that is neither waiting nor running has ended or moved on. If the news of it takes longer, Redis lost the job. */
const NEWS_MS = 3_000;

export interface AcceptedRequest {
  requestId: string;
  workspace: string;
  keyId: string;
  route: string | null;
  chain: ChainEntry[];
  onCrash: OnCrash;
  /** Redis time. */
  deadline: number;
  request: ChatRequest;
}

export interface Reply {
  head: ReplyHead;
  body: string;
}

export interface DispatcherParts {
  inboxId: string;
  queues: Queues;
  settlements: Settlements;
  coolDowns: CoolDowns;
  congestion: Congestion;
  clock: Clock;
  /** Whether any worker has been heard of lately. */
  hasWorkers(): boolean;
}

interface Pending {
  job: ChatJob;
  timer: NodeJS.Timeout | undefined;
  resolve(reply: Reply): void;
  reject(error: unknown): void;
}

export class Dispatcher {
  readonly #pending = new Map<string, Pending>();

  constructor(private readonly parts: DispatcherParts) {}

  get pendingCount(): number {
    return this.#pending.size;
  }

  dispatch(accepted: AcceptedRequest): Promise<Reply> {
    const now = this.parts.clock.now();
    const job: ChatJob = {
      ...accepted,
      model: accepted.request.model,
      inbox: this.parts.inboxId,
      acceptedAt: now,
      queuedAt: now,
      waitUntil: now,
      entry: 0,
      queueMs: 0,
      attempts: [],
    };
    return new Promise((resolve, reject) => {
      const pending: Pending = { job, timer: undefined, resolve, reject };
      this.#pending.set(job.requestId, pending);
      this.#enter(pending, 0).catch((error) => this.#abandon(pending, error));
    });
  }

  /** A message from the inbox. One about an unknown request comes late: its caller has been answered or has gone. */
  receive(message: InboxMessage): void {
    const pending = this.#pending.get(message.get('id') ?? '');
    if (!pending) return;
    const moved = message.get('moved');
    if (moved !== undefined) {
      pending.job = { ...pending.job, ...(JSON.parse(moved) as NextEntry) };
      this.#wake(pending, pending.job.waitUntil);
      return;
    }
    const head = JSON.parse(message.get('head') ?? '') as ReplyHead;
    if (head.served) this.parts.congestion.recordLatency(head.served.provider, head.served.latencyMs);
    this.#end(pending, { head, body: message.get('body') ?? '' });
  }

  /** Puts the request on the first queue from `entry` on that takes it. */
  async #enter(pending: Pending, entry: number): Promise<void> {
    const { clock, coolDowns, congestion, queues, settlements } = this.parts;
    let soonest = Number.POSITIVE_INFINITY;
    for (let i = entry; i < pending.job.chain.length; i++) {
      const { provider, model } = pending.job.chain[i] as ChainEntry;
      const now = clock.now();
      const limits = congestion.limits(provider);
      pending.job = {
        ...pending.job,
        entry: i,
        queuedAt: now,
        waitUntil: Math.min(now + limits.maxWaitMs, pending.job.deadline),
      };

      const cooling = coolDowns.remaining(provider, model);
      if (cooling > 0) {
        pending.job = passOver(pending.job, 'cooldown', now);
        soonest = Math.min(soonest, cooling);
        continue;
      }
      const [backlog] = await Promise.all([congestion.backlog(provider), queues.addChat(pending.job)]);
      // A job that a worker has taken meanwhile is not waiting any more, whatever the count was.
      const refused =
        backlog >= limits.maxBacklog && (await settlements.withdraw(pending.job)) === 'withdrawn';
      if (!refused) return this.#wake(pending, pending.job.waitUntil);
      pending.job = passOver(pending.job, 'backlog', now);
      soonest = Math.min(soonest, congestion.retryAfterMs(provider));
    }
    await this.#fail(pending, pending.job, rateLimited(pending.job, soonest), { as: 'refuser' });
  }

  /** Looks after the request again at this moment. */
  #wake(pending: Pending, at: number): void {
    if (!this.#pending.has(pending.job.requestId)) return;
    clearTimeout(pending.timer);
    const check = () => this.#check(pending).catch((error) => this.#abandon(pending, error));
    pending.timer = setTimeout(
      check,
      Math.max(0, Math.min(at, pending.job.deadline) - this.parts.clock.now()),
    );
  }

  async #check(pending: Pending): Promise<void> {
    const { job } = pending;
    const now = this.parts.clock.now();
    if (now >= job.deadline) return this.#expire(pending);
    if (now < job.waitUntil) return this.#wake(pending, job.waitUntil);

    const waited = passOver(job, 'concurrency', now);
    const isLast = job.entry + 1 === job.chain.length;
    const result = isLast
      ? await this.#fail(pending, waited, this.#waitedInVain(waited), { as: 'withdrawer' })
      : await this.parts.settlements.withdraw(job);
    // The news may have come meanwhile, and set its own timer.
    if (pending.job !== job || result === 'settled') return;
    if (result === 'gone') return this.#awaitNews(pending);
    if (result !== 'withdrawn') return this.#wake(pending, job.deadline);
    pending.job = waited;
    return this.#enter(pending, job.entry + 1);
  }

  #waitedInVain(job: ChatJob): GatewayError {
    return this.parts.hasWorkers()
      ? rateLimited(job, this.parts.congestion.retryAfterMs(providerOf(job)))
      : new GatewayError('service_unavailable', 'No worker is running.', { retryAfterMs: 5_000 });
  }

  #awaitNews(pending: Pending): void {
    if (!this.#pending.has(pending.job.requestId)) return;
    const lost = new GatewayError('service_unavailable', 'The request was lost.', { retryAfterMs: 1_000 });
    pending.timer = setTimeout(() => {
      this.#fail(pending, pending.job, lost, { as: 'refuser' }).catch((error) =>
        this.#abandon(pending, error),
      );
    }, NEWS_MS);
  }

  async #expire(pending: Pending): Promise<void> {
    const error = new GatewayError('provider_timeout', 'The request was not answered before its deadline.');
    const result = await this.#fail(pending, pending.job, error, { as: 'withdrawer' });
    if (result !== 'settled')
      pending.timer = setTimeout(() => this.#abandon(pending, error), DEADLINE_GRACE_MS);
  }

  /** Ends the request with an error and a log entry, unless its job is no longer the api's to end. */
  async #fail(pending: Pending, job: ChatJob, error: GatewayError, by: Settler): Promise<SettleResult> {
    const head: ReplyHead = {
      queueMs: job.queueMs,
      attempts: countCalls(job.attempts),
      error: error.toInfo(),
    };
    const log = failedLogEntry(job, error.code, this.parts.clock.now());
    const result = await this.parts.settlements.settle({ job, log, head }, by);
    if (result === 'settled') this.#end(pending, { head, body: '' });
    return result;
  }

  #end(pending: Pending, reply: Reply): void {
    if (this.#forget(pending)) pending.resolve(reply);
  }

  #abandon(pending: Pending, error: unknown): void {
    if (this.#forget(pending)) pending.reject(error);
  }

  #forget(pending: Pending): boolean {
    clearTimeout(pending.timer);
    return this.#pending.delete(pending.job.requestId);
  }
}

/** The entry was not called. */
function passOver(job: ChatJob, outcome: AttemptOutcome, now: number): ChatJob {
  const { provider, model } = job.chain[job.entry] as ChainEntry;
  return {
    ...job,
    queueMs: job.queueMs + Math.max(0, now - job.queuedAt),
    attempts: [...job.attempts, { provider, model, outcome }],
  };
}

function rateLimited(job: ChatJob, retryAfterMs: number): GatewayError {
  return new GatewayError(
    'rate_limited',
    `No provider could take the request: ${describeAttempts(job.attempts)}.`,
    {
      retryAfterMs,
    },
  );
}
