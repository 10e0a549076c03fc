/**
 * Requests with an Idempotency-Key. The first one runs. The same request again, at any api process, waits for the first
 * one's answer or gets the kept answer. Waiting requests are registered in Redis, and told when the first one is settled.
 */
import type { ChatRequest } from '@sluice/shared/chat';
import { GatewayError } from '@sluice/shared/errors';
import {
  type Idempotency,
  type IdempotentRequest,
  type IfLost,
  type KeyClaim,
  type Leader,
  MOST_WAITERS,
} from '@sluice/shared/queue/idempotency';
import type { InboxMessage } from '@sluice/shared/queue/inbox';
import type { ChatJob, OnCrash } from '@sluice/shared/queue/job';
import type { Payloads } from '@sluice/shared/queue/payload';
import { isRedisAway } from '@sluice/shared/redis/away';
import type { Clock } from '@sluice/shared/redis/clock';
import type { Admission } from './admission.js';
import type { Dispatcher, Reply } from './dispatcher.js';
import type { SharedAnswers } from './shared-answers.js';

/** How often a waiting request checks whether the first one is still under way. */
const LOOK_EVERY_MS = 1_500;
/**
 * A request counts as lost when it was missing at this many looks in a row. No command of a live api process takes this
 * long, so a request that is just being queued is not taken for lost.
 */
const LOST_AFTER_LOOKS = 2;
/** When Redis loses a queued request, its api process adds it again. This is longer than that takes. */
const LOST_AFTER_LOOKS_ONCE_QUEUED = 6;

const MAX_LENGTH = 255;

/** Throws unless callers may use this key. */
export function checkIdempotencyKey(key: string): void {
  if (/^[\x20-\x7e]+$/.test(key) && key.length <= MAX_LENGTH) return;
  const message = `Idempotency-Key must be 1 to ${MAX_LENGTH} printable ASCII characters.`;
  throw new GatewayError('invalid_request', message, { param: 'Idempotency-Key' });
}

export interface IdempotentParts {
  dispatcher: Pick<Dispatcher, 'dispatch' | 'refuse'>;
  idempotency: Idempotency;
  answers: SharedAnswers;
  admission: Pick<Admission, 'admitFollower'>;
  payloads: Pick<Payloads, 'fingerprints'>;
  clock: Pick<Clock, 'now'>;
}

type Answered = KeyClaim & { as: 'answered' };

/** A waiting request's view of its leader. */
interface Attachment {
  to: Leader;
  /** The leader's job was seen, or Redis has nothing left that would tell. */
  mayBeQueued: boolean;
  /** At how many looks in a row the leader was in no job. */
  missing: number;
}

/** A request, from its first claim of the key to its answer. */
interface Waiter {
  job: ChatJob;
  request: IdempotentRequest;
  /** The deadline by `performance.now()`: the caller is answered then, whatever Redis' clock says. */
  endsAt: number;
  /** The message to this request. It may come before Redis has answered the claim. */
  told: Answered | undefined;
  hungUp: boolean;
  wake(): void;
}

export class IdempotentDispatcher {
  readonly #waiters = new Map<string, Waiter>();

  constructor(private readonly parts: IdempotentParts) {}

  /** `digest`: the digest of the key, which the job has too. `body`: the caller's unchanged body. */
  async dispatch(job: ChatJob, parsed: ChatRequest, digest: string, body: string): Promise<Reply> {
    const { clock, dispatcher, idempotency, payloads } = this.parts;
    const { requestId, workspace, deadline, inbox, chain } = job;
    const timeoutMs = deadline - clock.now();
    const fingerprints = payloads.fingerprints(body);
    const request = { workspace, digest, fingerprints, requestId, inbox, timeoutMs, chain };
    const endsAt = performance.now() + timeoutMs;
    const waiter: Waiter = { job, request, endsAt, told: undefined, hungUp: false, wake: () => {} };
    // The waiter is registered before Redis knows of it, because the message may come at once.
    this.#waiters.set(requestId, waiter);
    try {
      const claim = await idempotency.admit(request);
      const reply = claim.as === 'new' ? 'lead' : await this.#follow(waiter, claim);
      return reply === 'lead' ? await dispatcher.dispatch(job, parsed) : reply;
    } finally {
      this.#waiters.delete(requestId);
    }
  }

  /** Returns whether the message was for waiting requests. */
  receive(message: InboxMessage): boolean {
    if (message.kind !== 'outcome') return false;
    const { head, requestId: by } = message;
    for (const requestId of message.waiters) {
      const waiter = this.#waiters.get(requestId);
      if (!waiter) continue;
      waiter.told = { as: 'answered', head, by };
      waiter.wake();
    }
    return true;
  }

  /** The caller is gone. A leading request runs on, because the caller's retry will ask for the answer. */
  cancel(requestId: string): void {
    const waiter = this.#waiters.get(requestId);
    if (!waiter) return;
    waiter.hungUp = true;
    waiter.wake();
  }

  /** A request that is not the first of its key. It counts against the workspace's limits like any other. */
  async #follow(waiter: Waiter, claim: KeyClaim): Promise<Reply | 'lead'> {
    const { admission, dispatcher, idempotency } = this.parts;
    const admitted = await admission.admitFollower(waiter.job);
    if (admitted instanceof GatewayError) {
      await idempotency.detach(waiter.request);
      const { idempotency: _, ...job } = waiter.job;
      return dispatcher.refuse(job, admitted);
    }
    try {
      return await this.#await(waiter, claim);
    } catch (error) {
      idempotency.detach(waiter.request).catch(() => {});
      throw error;
    } finally {
      admitted();
    }
  }

  /** Returns the reply, or `lead` when the request leads from now on. */
  async #await(waiter: Waiter, claim: KeyClaim): Promise<Reply | 'lead'> {
    let attachment: Attachment | undefined;
    let isSecond = false;
    for (;;) {
      switch (claim.as) {
        case 'new':
          return 'lead';
        case 'attached':
          attachment = attach(claim, attachment);
          claim = await this.#hearOrLook(waiter, attachment);
          break;
        case 'answered': {
          const reply = await this.#toReply(waiter, claim);
          if (reply) return reply;
          // Other answers have pushed this one out. An attached request must not run again, but a new one may.
          if (attachment || isSecond) throw answerGone();
          isSecond = true;
          claim = await this.parts.idempotency.admit(waiter.request);
          break;
        }
        default:
          throw REFUSALS[claim.as]();
      }
    }
  }

  /** Waits for the message. When it does not come for a while, it looks in Redis. */
  async #hearOrLook(waiter: Waiter, attachment: Attachment): Promise<KeyClaim> {
    const { job, request } = waiter;
    const left = waiter.endsAt - performance.now();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, Math.min(left, LOOK_EVERY_MS)));
      waiter.wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (waiter.told || waiter.hungUp) waiter.wake();
    });
    if (waiter.told) return waiter.told;
    if (waiter.hungUp)
      throw new GatewayError('service_unavailable', 'The caller hung up.', { reason: 'caller_left' });
    if (left <= LOOK_EVERY_MS) throw timedOut();
    try {
      return await this.parts.idempotency.look(request, attachment.to, ifLost(attachment, job.onCrash));
    } catch (error) {
      if (isRedisAway(error)) return this.#hearOrLook(waiter, attachment);
      throw error;
    }
  }

  /** Undefined when the answer is no longer kept. A failure is no replay: the caller attached while it was under way. */
  async #toReply(waiter: Waiter, { head, by }: Answered): Promise<Reply | undefined> {
    if (head.error !== undefined) return { head, body: '', replayed: false };
    try {
      const body = await this.parts.answers.read(waiter.request, by);
      return body && { head, body, replayed: true };
    } catch (error) {
      if (!isRedisAway(error) || waiter.endsAt - performance.now() <= LOOK_EVERY_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      return this.#toReply(waiter, { as: 'answered', head, by });
    }
  }
}

const REFUSALS = {
  conflict: () =>
    new GatewayError('idempotency_conflict', 'This Idempotency-Key was used with another body.', {
      param: 'Idempotency-Key',
    }),
  crowded: () =>
    new GatewayError(
      'rate_limited',
      `${MOST_WAITERS} requests wait already for the answer to this Idempotency-Key.`,
      { param: 'Idempotency-Key', retryAfterMs: LOOK_EVERY_MS, reason: 'same_key_crowd' },
    ),
  lost: () =>
    new GatewayError(
      'provider_outcome_unknown',
      'The process that ran the first request with this Idempotency-Key is gone, and so is what it knew. The provider may have answered and billed that call. It was not called again.',
      { reason: 'job_lost' },
    ),
} as const;

/** The first claim does not count as a look, because the leader may be about to be queued. */
function attach({ to, seen }: KeyClaim & { as: 'attached' }, before?: Attachment): Attachment {
  const same = before?.to.requestId === to.requestId ? before : undefined;
  return {
    to,
    mayBeQueued: seen !== 'record' || same?.mayBeQueued === true,
    missing: same && seen !== 'job' ? same.missing + 1 : 0,
  };
}

/** At the last look the leader is given up. The request runs again only where a provider may be called twice. */
function ifLost({ mayBeQueued, missing }: Attachment, onCrash: OnCrash): IfLost {
  if (missing + 1 < (mayBeQueued ? LOST_AFTER_LOOKS_ONCE_QUEUED : LOST_AFTER_LOOKS)) return 'wait';
  return onCrash === 'fail' ? 'end' : 'lead';
}

function answerGone(): GatewayError {
  return new GatewayError(
    'provider_outcome_unknown',
    'The first request with this Idempotency-Key was answered, and its answer is no longer kept. It was not called again.',
    { reason: 'answer_gone' },
  );
}

function timedOut(): GatewayError {
  return new GatewayError('provider_timeout', 'The request was not answered before its deadline.', {
    reason: 'deadline',
  });
}
