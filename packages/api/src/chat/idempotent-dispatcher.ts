/**
 * Requests with an Idempotency-Key. The first one runs; the same request again, sent to whichever api process, waits for
 * that one's answer or is given the kept one. Who waits is registered in Redis and told when the request is settled.
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

/** How often one who waits looks whether the request is still under way. */
const LOOK_EVERY_MS = 1_500;
/**
 * A request is lost when it was missing at so many looks in a row. No command of a live api process takes this long, so a
 * request that is just being queued is not taken for lost.
 */
const LOST_AFTER_LOOKS = 2;
/** One that was queued and that Redis then lost is put back by its api process: longer than the safety net takes. */
const LOST_AFTER_LOOKS_ONCE_QUEUED = 6;

const MAX_LENGTH = 255;

/** Throws unless it is one that callers may use. */
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

/** What one who waits has seen of the request that it waits for. */
interface Attachment {
  to: Leader;
  /** Its job was seen, or nothing is left from which one could tell. */
  mayBeQueued: boolean;
  /** At how many looks in a row it was in no job. */
  missing: number;
}

/** A request, from its first claim of the key to its answer. */
interface Waiter {
  job: ChatJob;
  request: IdempotentRequest;
  /** What its message said. It may come before Redis has said that there will be one. */
  told: Answered | undefined;
  hungUp: boolean;
  wake(): void;
}

export class IdempotentDispatcher {
  readonly #waiters = new Map<string, Waiter>();

  constructor(private readonly parts: IdempotentParts) {}

  /** `digest`: of the key, as it is in the job too. `body`: as the caller sent it. */
  async dispatch(job: ChatJob, parsed: ChatRequest, digest: string, body: string): Promise<Reply> {
    const { clock, dispatcher, idempotency, payloads } = this.parts;
    const { requestId, workspace, deadline, inbox, chain } = job;
    const timeoutMs = deadline - clock.now();
    const fingerprints = payloads.fingerprints(body);
    const request = { workspace, digest, fingerprints, requestId, inbox, timeoutMs, chain };
    const waiter: Waiter = { job, request, told: undefined, hungUp: false, wake: () => {} };
    // Registered before Redis knows of it: the message may come with the same breath.
    this.#waiters.set(requestId, waiter);
    try {
      const claim = await idempotency.admit(request);
      const reply = claim.as === 'new' ? 'lead' : await this.#follow(waiter, claim);
      return reply === 'lead' ? await dispatcher.dispatch(job, parsed) : reply;
    } finally {
      this.#waiters.delete(requestId);
    }
  }

  /** Whether the message was for those who wait. */
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

  /** The caller is gone, and waits no more. A request that leads runs on: the retry will ask for its answer. */
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

  /** The reply, or that the request leads from now on. */
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
          // Other answers have pushed it out. One who was attached to it must not run; a newcomer may.
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

  /** Waits for the message, and looks when it has not come for a while. */
  async #hearOrLook(waiter: Waiter, attachment: Attachment): Promise<KeyClaim> {
    const { job, request } = waiter;
    const left = job.deadline - this.parts.clock.now();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, Math.min(left, LOOK_EVERY_MS)));
      waiter.wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (waiter.told || waiter.hungUp) waiter.wake();
    });
    if (waiter.told) return waiter.told;
    if (waiter.hungUp) throw new GatewayError('service_unavailable', 'The caller hung up.');
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
      if (!isRedisAway(error) || waiter.job.deadline - this.parts.clock.now() <= LOOK_EVERY_MS) throw error;
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
      { param: 'Idempotency-Key', retryAfterMs: LOOK_EVERY_MS },
    ),
  lost: () =>
    new GatewayError(
      'provider_outcome_unknown',
      'The process that ran the first request with this Idempotency-Key is gone, and so is what it knew. The provider may have answered and billed that call. It was not called again.',
    ),
} as const;

/** The first time is no look: the leader may just be about to be queued. */
function attach({ to, seen }: KeyClaim & { as: 'attached' }, before?: Attachment): Attachment {
  const same = before?.to.requestId === to.requestId ? before : undefined;
  return {
    to,
    mayBeQueued: seen !== 'record' || same?.mayBeQueued === true,
    missing: same && seen !== 'job' ? same.missing + 1 : 0,
  };
}

/** At the last look the leader is given up. It is run again only where a provider may be called twice. */
function ifLost({ mayBeQueued, missing }: Attachment, onCrash: OnCrash): IfLost {
  if (missing + 1 < (mayBeQueued ? LOST_AFTER_LOOKS_ONCE_QUEUED : LOST_AFTER_LOOKS)) return 'wait';
  return onCrash === 'fail' ? 'end' : 'lead';
}

function answerGone(): GatewayError {
  return new GatewayError(
    'provider_outcome_unknown',
    'The first request with this Idempotency-Key was answered, and its answer is no longer kept. It was not called again.',
  );
}

function timedOut(): GatewayError {
  return new GatewayError('provider_timeout', 'The request was not answered before its deadline.');
}
