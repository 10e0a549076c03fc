/**
 * An accepted request, from the queue to its reply, as the api process sees it.
 *
 *   enter an entry's queue ──reply─────────────────────────────────► answered
 *     │      ▲  └─ the worker moved it to the next entry (a notice) ─┐
 *     │      └───────────────────────────────────────────────────────┘
 *     ├─ cooling down, circuit open, backlog full, displaced, wait run out ─► enter the next entry, or answered with its error
 *     ├─ deadline ─► answered with provider_timeout
 *     └─ the caller hangs up ─► taken off the queue, or its worker is told to stop
 *
 * The dispatcher owns the pending requests and the one timer each has. A request leaves here once, by `#end`, or by
 * `#abandon` when Redis could not be reached. Once its job is on a queue, a request is not abandoned before its deadline:
 * when Redis loses the job, the safety net adds it again.
 *
 * A job whose worker died waits once more, for as long as a new one. When it is taken off its queue after all, the calls
 * of the workers that died with it are in its log entry.
 */

import type { ChatRequest } from '@sluice/shared/chat';
import { isMeant } from '@sluice/shared/contract/chain';
import { waitUntil } from '@sluice/shared/contract/priority';
import { GatewayError } from '@sluice/shared/errors';
import { type BlockedOutcome, OUTCOMES } from '@sluice/shared/outcomes';
import { isSpoken } from '@sluice/shared/process/protocol';
import { UnderWay } from '@sluice/shared/process/under-way';
import type { Availability, Blocked } from '@sluice/shared/providers/availability';
import { tierApart } from '@sluice/shared/providers/service-tier';
import type { AnnouncedLimits } from '@sluice/shared/queue/announced-limits';
import { countCalls, describeAttempts } from '@sluice/shared/queue/attempts';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { InboxMessage } from '@sluice/shared/queue/inbox';
import {
  type Attempt,
  type ChainEntry,
  type ChatJob,
  isAwaited,
  isUnrefused,
  MAX_STARTS,
  providerOf,
  type ReplyHead,
} from '@sluice/shared/queue/job';
import { failedLogEntry, type LogCode } from '@sluice/shared/queue/request-log';
import type { SettleResult } from '@sluice/shared/queue/scripts';
import type { NextEntry, Settler } from '@sluice/shared/queue/settle';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ApiMetrics } from '../cell/metrics.js';
import { hungUp, redisFull } from '../http/report-errors.js';
import type { Admission } from './admission.js';
import type { Congestion } from './congestion.js';
import { type EstimateCall, withLost } from './lost-calls.js';
import type { Promises } from './promises.js';
import type { RefusalRate } from './refusal-rate.js';
import type { TokenHabits } from './token-habits.js';

/** The dispatcher waits this long after the deadline for the worker's own error, which says more. */
const DEADLINE_GRACE_MS = 100;
/** When Redis did not answer, the dispatcher tries again after this time. */
const RETRY_MS = 250;
/** A caller has hung up, and a worker had the job. A worker that starts later has to be told again. */
const CANCEL_AGAIN_MS = 3_000;
/** The `retry-after` of a paused queue. */
const PAUSED_RETRY_MS = 30_000;

export interface Reply {
  head: ReplyHead;
  /** A sealed text, or an opened body that several callers share. */
  body: string | Buffer;
  /** The answer to an earlier request with the same Idempotency-Key. */
  replayed: boolean;
}

export interface DispatcherParts {
  queue: ChatQueue;
  availability: Availability;
  congestion: Congestion;
  announced: Pick<AnnouncedLimits, 'waitedForUntil'>;
  clock: Clock;
  admission: Pick<Admission, 'admit' | 'leave'>;
  habits: Pick<TokenHabits, 'learn'>;
  promises: Pick<Promises, 'isEmpty' | 'isKept' | 'refused'>;
  refusalRate: RefusalRate;
  estimateCall: EstimateCall;
  /** Takes room in Redis for a request of this size. False when there is none. */
  hasRoom(bytes: number): boolean;
  /** Whether any worker is alive. */
  hasWorkers(): boolean;
  /** Asks the worker that runs the request to stop. */
  stopRunning(requestId: string): Promise<void>;
  /** A job may be on its queue although adding it failed. */
  onGhost(job: ChatJob): void;
  metrics: Pick<ApiMetrics, 'cancelled' | 'passedOver' | 'refusedByWorkspace'>;
}

export interface Pending {
  job: ChatJob;
  /** The service tier that the request asks for, if the tier has its own capacity. */
  tier: string | undefined;
  queued: boolean;
  cancelled: boolean;
  /** The entry from whose full queue the job was displaced. The message may come before Redis confirms the job. */
  displacedFrom: number | undefined;
  /** How many workers have died with the job of this entry, as far as is known here. */
  died: number;
  /** The deadline by `performance.now()`: the caller is answered then, whatever Redis' clock says. */
  endsAt: number;
  timer: NodeJS.Timeout | undefined;
  cancelTimer?: NodeJS.Timeout;
  onQueued?: (() => void) | undefined;
  resolve(reply: Reply): void;
  reject(error: unknown): void;
}

export class Dispatcher {
  readonly #pending = new UnderWay<Pending>();

  constructor(private readonly parts: DispatcherParts) {}

  get pending(): UnderWay<Pending> {
    return this.#pending;
  }

  /** `request` is the job's parsed request. `onQueued` is called when the job is on a queue: the request is safe then. */
  dispatch(job: ChatJob, request: ChatRequest, onQueued?: () => void): Promise<Reply> {
    return this.#await(job, tierApart(request), (pending) => {
      pending.onQueued = onQueued;
      return this.#admit(pending, request);
    });
  }

  /** Answers a request that its workspace may not send now. */
  refuse(job: ChatJob, error: GatewayError): Promise<Reply> {
    return this.#await(job, undefined, (pending) => this.#refuse(pending, error));
  }

  #await(job: ChatJob, tier: Pending['tier'], begin: (pending: Pending) => Promise<void>): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const pending: Pending = {
        job,
        tier,
        queued: false,
        cancelled: false,
        displacedFrom: undefined,
        died: 0,
        endsAt: performance.now() + job.deadline - this.parts.clock.now(),
        timer: undefined,
        resolve,
        reject,
      };
      this.#pending.set(job.requestId, pending);
      begin(pending).catch((error) => this.#abandon(pending, error));
    });
  }

  async #admit(pending: Pending, request: ChatRequest): Promise<void> {
    const { job } = pending;
    const admitted = this.parts.admission.admit(job, request);
    const refused = admitted instanceof Promise ? await admitted : admitted;
    if (refused && (pending.cancelled || refused.reason === 'caller_left')) {
      await this.#fail(pending, job, refused, { as: 'refuser' }, 'cancelled');
      return;
    }
    if (refused) return this.#refuse(pending, refused);
    // Room is taken only after the admission, so that a refused request takes no room from others.
    if (!this.parts.hasRoom(job.request.length)) {
      await this.#fail(pending, job, redisFull(), { as: 'refuser' });
      return;
    }
    if (this.#isPromised(job)) job.isPromised = true;
    try {
      await this.#enter(pending, 0);
    } catch (error) {
      if (!(error instanceof ReservationLapsed)) throw error;
      delete job.reserved;
      delete job.held;
      pending.job = job;
      await this.#admit(pending, request);
    }
  }

  /** A promise is kept where the request would wait. Under a load that never ends, all cannot be kept. */
  #isPromised(job: ChatJob): boolean {
    const { congestion, promises } = this.parts;
    if (promises.isEmpty) return false;
    const { provider } = job.chain.at(-1) as ChainEntry;
    return !congestion.isFarBehind(provider) && promises.isKept(job);
  }

  async #refuse(pending: Pending, error: GatewayError): Promise<void> {
    this.parts.metrics.refusedByWorkspace();
    await this.#fail(pending, pending.job, error, { as: 'refuser' });
  }

  /** Handles a message of the inbox. A message about an unknown request is late: its caller was answered or has gone. */
  receive(message: InboxMessage): void {
    const pending = this.#pending.get(message.requestId);
    if (!pending) return;
    if (message.kind === 'models' || message.kind === 'tested') return;
    if (message.kind === 'outcome' || message.kind === 'room') return;
    if (message.kind === 'moved') {
      // A notice may be read twice. The request may have left that entry meanwhile, and never goes back. It may wait there
      // once more, after a call that was refused, or for a limit that was not known before.
      const { entry, attempts, waitUntil } = message.next;
      const { job } = pending;
      const more = attempts.length - job.attempts.length;
      const isSame = entry === job.entry && (more < 0 || (more === 0 && waitUntil <= job.waitUntil));
      if (entry < job.entry || isSame) return;
      this.#moved(pending, { ...pending.job, ...message.next });
      return;
    }
    if (message.kind === 'displaced') {
      this.#displace(pending, message.entry);
      return;
    }
    const { head, body } = message;
    if (!isSpoken(head.protocol)) return;
    const { served } = head;
    if (served) this.parts.congestion.recordLatency(served.provider, served.latencyMs);
    if (served?.took) this.parts.habits.learn(pending.job, served.took);
    this.#end(pending, { head, body, replayed: false });
  }

  /** The caller is gone. A waiting job is taken off its queue, and the worker that has the job is told to stop. */
  cancel(requestId: string): void {
    const pending = this.#pending.get(requestId);
    if (!pending) return;
    pending.cancelled = true;
    if (!pending.queued) {
      this.parts.admission.leave(requestId);
      return;
    }
    const again = (ms: number) => {
      clearTimeout(pending.cancelTimer);
      pending.cancelTimer = setTimeout(() => this.cancel(requestId), ms);
    };
    this.#failWaiting(pending, hungUp(), 'cancelled')
      .then(async (ended) => {
        if (pending.cancelTimer === undefined) this.parts.metrics.cancelled(ended ? 'waiting' : 'running');
        if (ended) return;
        await this.parts.stopRunning(requestId);
        if (this.#pending.has(requestId)) again(CANCEL_AGAIN_MS);
      })
      .catch(() => again(RETRY_MS));
  }

  /** Ends a request that waits. A request that a worker runs goes on. */
  withdraw(requestId: string): void {
    const pending = this.#pending.get(requestId);
    if (!pending) return;
    if (!pending.queued) {
      this.parts.admission.leave(requestId);
      return;
    }
    this.#failWaiting(pending, withdrawn(), 'cancelled').catch(() => {});
  }

  /** Ends a request whose job is lost and that may not be run a second time. */
  readonly giveUp = async (requestId: string): Promise<void> => {
    const pending = this.#pending.get(requestId);
    if (!pending) return;
    const job = this.#withLost(pending.job, 1);
    await this.#fail(pending, job, outcomeUnknown(job.attempts), { as: 'refuser' });
  };

  /** The job gave its place in a full queue to a job with an earlier turn. It stays in Redis, and its wait is over. */
  #displace(pending: Pending, entry: number): void {
    if (pending.job.entry !== entry) return;
    pending.displacedFrom = entry;
    if (pending.queued) this.#watch(pending);
  }

  /** Puts the request on the first queue, from `entry` on, that takes it. `before`: why the previous queue did not. */
  async #enter(pending: Pending, entry: number, before = NOT_BLOCKED): Promise<void> {
    for (let i = entry; i < pending.job.chain.length; i++) {
      if (!isMeant(pending.job.chain[i] as ChainEntry, pending.job.attempts)) continue;
      pending.job = this.#entering(pending.job, i);
      // A request that has time waits for its provider, whatever the provider is doing now.
      const isPlanned = pending.job.plan !== undefined;
      const blocked = isPlanned ? undefined : this.#whyNot(pending, pending.job);
      const reason = blocked ?? (await this.#queue(pending));
      if (!reason && isPlanned && pending.job.batch === undefined) return this.#end(pending, LET_GO);
      if (!reason) return this.#moved(pending, pending.job);
      this.#passOver(pending, reason, pending.job.queuedAt);
      before = soonest(before, reason);
    }
    await this.#fail(pending, pending.job, refusal(pending.job, before), { as: 'refuser' });
  }

  /** The job as it waits at this entry from now on. */
  #entering(job: ChatJob, entry: number): ChatJob {
    const { provider, model } = job.chain[entry] as ChainEntry;
    const { announced, clock, congestion } = this.parts;
    const now = clock.now();
    // Where no other entry is left, it waits for a limit that nobody knew of.
    const from = entry === job.chain.length - 1 ? announced.waitedForUntil(provider, model) : now;
    const until = isUnrefused(job, entry)
      ? job.deadline
      : waitUntil(job, now, congestion.limits(provider).maxWaitMs, from);
    // Nobody else has the job of a request that begins, so it need not be copied.
    if (entry === 0) return Object.assign(job, { queuedAt: now, waitUntil: until });
    return { ...job, entry, queuedAt: now, waitUntil: until };
  }

  /** Returns why the job need not try its entry's queue. */
  #whyNot({ tier }: Pending, job: ChatJob): Blocked | undefined {
    const { availability, congestion } = this.parts;
    const { provider, model } = job.chain[job.entry] as ChainEntry;
    const blocked = availability.blocked(provider, model, tier);
    const { maxWaitMs } = congestion.limits(provider);
    if (blocked && !isAwaited(job, blocked.endsAt, job.queuedAt, maxWaitMs)) return blocked;
    if (isUnrefused(job)) return undefined;
    return congestion.isKnownFull(provider, job) ? this.#full(provider) : undefined;
  }

  /** Returns why the queue did not take the job. */
  async #queue(pending: Pending): Promise<Blocked | undefined> {
    const { congestion, queue } = this.parts;
    const { job } = pending;
    const provider = providerOf(job);
    try {
      const most = job.plan ? undefined : congestion.mostWaiting(provider, isUnrefused(job));
      const waiting = await queue.addChat(job, most);
      if (waiting === 'lapsed') throw new ReservationLapsed();
      if (waiting === 'settled' && job.inBackground && pending.onQueued) throw superseded();
      pending.queued = typeof waiting !== 'number';
      if (pending.queued) {
        pending.onQueued?.();
        pending.onQueued = undefined;
        return undefined;
      }
      if (typeof waiting === 'number') congestion.recordFull(provider, job, waiting);
    } catch (error) {
      // A batch finds out what became of its line, and sends it again under the same id.
      if (job.batch === undefined && !(error instanceof GatewayError)) this.parts.onGhost(job);
      throw error;
    }
    return this.#full(provider);
  }

  #full(provider: string): Blocked {
    return { outcome: 'backlog', retryAfterMs: this.parts.congestion.retryAfterMs(provider) };
  }

  #passOver(pending: Pending, { outcome }: Blocked, now: number): void {
    this.parts.metrics.passedOver(pending.job, outcome);
    pending.job = passOver(pending.job, outcome, now);
  }

  /** Sets the request's timer to this moment, and to its deadline at the latest. */
  #wake(pending: Pending, at = Number.POSITIVE_INFINITY): void {
    if (!this.#pending.has(pending.job.requestId)) return;
    clearTimeout(pending.timer);
    const check = () =>
      this.#check(pending).catch(() => {
        // Redis did not answer. The job is safe in Redis, and at the deadline the caller is answered without Redis.
        if (performance.now() < pending.endsAt) this.#wake(pending, this.parts.clock.now() + RETRY_MS);
        else this.#abandon(pending, timedOut());
      });
    const ms = Math.min(at - this.parts.clock.now(), pending.endsAt - performance.now());
    pending.timer = setTimeout(check, Math.max(0, ms));
  }

  async #check(pending: Pending): Promise<void> {
    const { job } = pending;
    const now = this.parts.clock.now();
    if (performance.now() >= pending.endsAt) return this.#expire(pending);
    const isDisplaced = pending.displacedFrom === job.entry;
    // A wait that lasts until the deadline ends there, by the clock of the deadline.
    const until = job.waitUntil < job.deadline ? job.waitUntil : Number.POSITIVE_INFINITY;
    if (now < until && !isDisplaced) return this.#wake(pending, until);
    // Nobody wants an answer of the next entry.
    if (pending.cancelled) return this.#wake(pending);

    const { died } = pending;
    const reason = isDisplaced ? this.#full(providerOf(job)) : await this.#whyWaited(providerOf(job));
    const waited = passOver(this.#withLost(job, died), reason.outcome, now);
    const hasNext = job.chain.some((entry, i) => i > job.entry && isMeant(entry, job.attempts));
    // Without any worker the request would wait in vain at the next entry, too.
    const isLast = !hasNext || !this.parts.hasWorkers();
    const result = isLast
      ? await this.#fail(pending, waited, this.#waitedInVain(waited, reason), { as: 'withdrawer', died })
      : await this.#passOn(pending, waited);
    if (result === 'settled' || result === 'moved') this.parts.metrics.passedOver(job, reason.outcome);
    // The notice of a move may have come meanwhile, and has set the timer then.
    if (pending.job !== job || result === 'settled') return;
    if (typeof result === 'number') return this.#waitAgain(pending, result, now);
    if (result === 'gone' && isDisplaced) return this.#enterAnew(pending, waited, reason);
    this.#wake(pending);
  }

  /**
   * Moves a request that has waited to the first entry that takes it. Meanwhile its job stays where it is, so that the
   * request is not lost with this process, and a worker may still take it.
   */
  async #passOn(pending: Pending, waited: ChatJob): Promise<SettleResult | 'moved'> {
    const { congestion, metrics, queue } = this.parts;
    const { job, died } = pending;
    const passed: [ChatJob, BlockedOutcome][] = [];
    let at = waited;
    let blocked = NOT_BLOCKED;
    let result: SettleResult | 'moved' | undefined;
    for (let i = job.entry + 1; i < job.chain.length; i++) {
      if (!isMeant(job.chain[i] as ChainEntry, job.attempts)) continue;
      at = this.#entering(at, i);
      let reason = this.#whyNot(pending, at);
      if (!reason) {
        const provider = providerOf(at);
        const most = congestion.limits(provider).maxBacklog;
        const moved = await queue.passOn(job, nextEntryOf(at), most, died);
        if (!Array.isArray(moved)) {
          result = moved;
          break;
        }
        congestion.recordFull(provider, at, moved[1]);
        reason = this.#full(provider);
      }
      passed.push([at, reason.outcome]);
      at = passOver(at, reason.outcome, at.queuedAt);
      blocked = soonest(blocked, reason);
    }
    const here = { ...at, entry: job.entry };
    result ??= await this.#fail(pending, here, refusal(at, blocked), { as: 'withdrawer', died });
    if (result !== 'settled' && result !== 'moved') return result;
    for (const [each, outcome] of passed) metrics.passedOver(each, outcome);
    if (result === 'moved' && pending.job === job) this.#moved(pending, at);
    return result;
  }

  /** An older process has displaced the job, and has removed it from Redis. */
  async #enterAnew(pending: Pending, waited: ChatJob, full: Blocked): Promise<void> {
    pending.job = waited;
    pending.queued = false;
    await this.#enter(pending, waited.entry + 1, full).catch((error) => this.#abandon(pending, error));
  }

  /** The request waits at another entry now. */
  #moved(pending: Pending, job: ChatJob): void {
    pending.job = job;
    pending.died = 0;
    if (pending.cancelled) this.cancel(job.requestId);
    else this.#watch(pending);
  }

  #watch(pending: Pending): void {
    const { entry, waitUntil } = pending.job;
    this.#wake(pending, pending.displacedFrom === entry ? this.parts.clock.now() : waitUntil);
  }

  /** The job's worker has died. The job waits for another one, which may not call again at every route. */
  #waitAgain(pending: Pending, died: number, now: number): void {
    const { job } = pending;
    pending.died = died;
    const maxWaitMs = this.parts.congestion.limits(providerOf(job)).maxWaitMs;
    const mayRun = job.onCrash !== 'fail' && died < MAX_STARTS;
    this.#wake(pending, mayRun ? waitUntil(job, now, maxWaitMs) : undefined);
  }

  #withLost(job: ChatJob, died: number): ChatJob {
    return withLost(job, died, this.parts.estimateCall);
  }

  #waitedInVain(job: ChatJob, reason: Blocked): GatewayError {
    if (this.parts.hasWorkers()) return refusal(job, reason);
    return new GatewayError('service_unavailable', 'No worker is running.', {
      retryAfterMs: 5_000,
      reason: 'no_workers',
    });
  }

  /** Why a request got no turn. */
  async #whyWaited(provider: string): Promise<Blocked> {
    const { congestion, queue } = this.parts;
    if (!congestion.hasCounted(provider)) {
      const { waiting, prioritized, paused, concurrency } = await queue.look(provider);
      congestion.recordWaiting(provider, waiting + prioritized, paused, concurrency);
    }
    if (congestion.isPaused(provider)) return { outcome: 'paused', retryAfterMs: PAUSED_RETRY_MS };
    return { outcome: 'concurrency', retryAfterMs: congestion.retryAfterMs(provider) };
  }

  async #expire(pending: Pending): Promise<void> {
    if (await this.#failWaiting(pending, timedOut())) return;
    pending.timer = setTimeout(() => this.#abandon(pending, timedOut()), DEADLINE_GRACE_MS);
  }

  /** Ends the request if its job waits. False when a worker has the job, or its reply is on the way. */
  async #failWaiting(pending: Pending, error: GatewayError, code?: LogCode): Promise<boolean> {
    const { job } = pending;
    for (;;) {
      const { died } = pending;
      const by: Settler = { as: 'withdrawer', died };
      const result = await this.#fail(pending, this.#withLost(job, died), error, by, code);
      if (typeof result !== 'number') return result === 'settled';
      if (pending.job !== job) return false;
      pending.died = result;
    }
  }

  /** Ends the request with an error and a log entry, if the result is `settled`. */
  async #fail(
    pending: Pending,
    job: ChatJob,
    error: GatewayError,
    by: Settler,
    code: LogCode = error.code,
  ): Promise<SettleResult> {
    const attempts = countCalls(job.attempts);
    const head: ReplyHead = { queueMs: job.queueMs, attempts, error: error.toInfo() };
    const now = this.parts.clock.now();
    const log = failedLogEntry(job, code, error.reason, now);
    const isRefusal = (by.as === 'refuser' || pending.displacedFrom === job.entry) && attempts === 0;
    const isCounted = isRefusal && this.parts.refusalRate.isExceeded(job.workspace, now);
    // One log entry will stand for many refusals, which may differ in these fields.
    if (isCounted) {
      delete log.tags;
      delete log.user;
    }
    const wasNeverQueued = pending.onQueued !== undefined;
    const settlement = { job, log, head, isCounted, wasNeverQueued };
    const result = await this.parts.queue.settle(settlement, by);
    if (result === 'settled') this.#end(pending, { head, body: '', replayed: false });
    // It was settled before. Its reply is on the way, or went to a process that sent the same line of a batch earlier.
    else if (by.as === 'refuser') this.#wake(pending);
    return result;
  }

  #end(pending: Pending, reply: Reply): void {
    if (!this.#forget(pending)) return;
    const { error } = reply.head;
    if (error) this.parts.promises.refused(pending.job, error);
    pending.resolve(reply);
  }

  #abandon(pending: Pending, error: unknown): void {
    if (this.#forget(pending)) pending.reject(error);
  }

  #forget(pending: Pending): boolean {
    clearTimeout(pending.timer);
    clearTimeout(pending.cancelTimer);
    if (!this.#pending.delete(pending.job.requestId)) return false;
    return true;
  }
}

/** This process stood still between admitting and queueing the request, and others may have the room now. */
class ReservationLapsed extends GatewayError {
  constructor() {
    super('service_unavailable', 'What was reserved for the request has lapsed.', { retryAfterMs: 1_000 });
  }
}

/** A request that has time is on its queue. No process keeps it in memory, and nobody waits for this. */
const LET_GO: Reply = { head: { queueMs: 0, attempts: 0 }, body: '', replayed: false };

/** The reason before any entry was tried. */
const NOT_BLOCKED: Blocked = { outcome: 'backlog', retryAfterMs: Number.POSITIVE_INFINITY };

/** Several entries did not take the request. The last one is named, and the first one that may is waited for. */
function soonest(before: Blocked, { outcome, retryAfterMs }: Blocked): Blocked {
  return { outcome, retryAfterMs: Math.min(before.retryAfterMs, retryAfterMs) };
}

function nextEntryOf({ entry, queuedAt, waitUntil, queueMs, attempts }: ChatJob): NextEntry {
  return { entry, queuedAt, waitUntil, queueMs, attempts };
}

/** The entry was not called. */
function passOver(job: ChatJob, outcome: BlockedOutcome, now: number): ChatJob {
  const { provider, model } = job.chain[job.entry] as ChainEntry;
  return {
    ...job,
    queueMs: job.queueMs + Math.max(0, now - job.queuedAt),
    attempts: [
      ...job.attempts,
      { provider, model, outcome, startMs: Math.max(0, Math.round(now - job.acceptedAt)) },
    ],
  };
}

function refusal(job: ChatJob, { outcome, retryAfterMs }: Blocked): GatewayError {
  const message = `No provider could take the request: ${describeAttempts(job.attempts)}.`;
  const { code, reason } = OUTCOMES[outcome];
  return new GatewayError(code, message, { retryAfterMs, reason });
}

function withdrawn(): GatewayError {
  return new GatewayError('service_unavailable', 'The request was taken back before its turn came.', {
    reason: 'withdrawn',
  });
}

function outcomeUnknown(attempts: readonly Attempt[]): GatewayError {
  const message = `Redis lost the request after it was accepted (${describeAttempts(attempts)}). The provider may have been called, and have billed the call. It was not called again, because its route says on_crash: fail.`;
  return new GatewayError('provider_outcome_unknown', message, { reason: 'job_lost' });
}

/** This process stood still for so long that a retry has taken over the Idempotency-Key. */
function superseded(): GatewayError {
  return new GatewayError('service_unavailable', 'A retry with the same Idempotency-Key has taken over.', {
    retryAfterMs: 1_000,
  });
}

export function timedOut(): GatewayError {
  return new GatewayError('provider_timeout', 'The request was not answered before its deadline.', {
    reason: 'deadline',
  });
}
