/**
 * Requests with an Idempotency-Key. The first one runs; the same request again, sent to whichever api process, waits for
 * that one's answer or is given the kept one. Who waits is registered in Redis and answered when the request is settled.
 */
import type { ChatRequest } from '@sluice/shared/chat';
import { GatewayError } from '@sluice/shared/errors';
import type { Idempotency, IfLost, KeyClaim, Leader } from '@sluice/shared/queue/idempotency';
import type { InboxMessage } from '@sluice/shared/queue/inbox';
import type { ChatJob, OnCrash, ReplyHead } from '@sluice/shared/queue/job';
import { isRedisAway } from '@sluice/shared/redis/away';
import type { Clock } from '@sluice/shared/redis/clock';
import type { Dispatcher, Reply } from './dispatcher.js';

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

/** What one who waits has seen of the request that it waits for. */
interface Attachment {
  to: Leader;
  /** Its job was seen, or nothing is left from which one could tell. */
  mayBeQueued: boolean;
  /** At how many looks in a row it was in no job. */
  missing: number;
}

interface Waiter {
  timer: NodeJS.Timeout | undefined;
  resolve(reply: Reply): void;
}

export class IdempotentDispatcher {
  readonly #waiters = new Map<string, Waiter>();

  constructor(
    private readonly dispatcher: Pick<Dispatcher, 'dispatch'>,
    private readonly idempotency: Idempotency,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** `digest`: of the key, as it is in the job too. `body`: as the caller sent it. */
  async dispatch(job: ChatJob, parsed: ChatRequest, digest: string, body: string): Promise<Reply> {
    const { requestId, workspace, deadline, inbox, chain } = job;
    const timeoutMs = deadline - this.clock.now();
    const request = { workspace, digest, body, requestId, inbox, timeoutMs, chain };

    return new Promise<Reply>((resolve, reject) => {
      // Registered before Redis knows of it: the answer may come with the same breath.
      const waiter: Waiter = { timer: undefined, resolve };
      this.#waiters.set(requestId, waiter);
      const give = (error: unknown) => {
        if (this.#forget(requestId)) reject(error);
      };
      const decide = async (admission: KeyClaim, attachment?: Attachment): Promise<void> => {
        if (!this.#waiters.has(requestId)) return;
        switch (admission.as) {
          case 'conflict':
            return give(
              new GatewayError('idempotency_conflict', 'This Idempotency-Key was used with another body.', {
                param: 'Idempotency-Key',
              }),
            );
          case 'answered':
            return this.#answer(requestId, toReply(admission));
          case 'lost':
            return give(
              new GatewayError(
                'provider_outcome_unknown',
                'The process that ran the first request with this Idempotency-Key is gone, and so is what it knew. The provider may have answered and billed that call. It was not called again.',
              ),
            );
          case 'new':
            return this.#answer(requestId, await this.dispatcher.dispatch(job, parsed));
          case 'attached':
            return lookLater(attach(admission, attachment));
        }
      };
      const lookLater = (attachment: Attachment) => {
        const left = deadline - this.clock.now();
        const look = () => {
          if (left <= LOOK_EVERY_MS) return give(timedOut());
          this.idempotency.look(request, attachment.to, ifLost(attachment, job.onCrash)).then(
            (admission) => decide(admission, attachment).catch(give),
            (error) => (isRedisAway(error) ? lookLater(attachment) : give(error)),
          );
        };
        waiter.timer = setTimeout(look, Math.max(0, Math.min(left, LOOK_EVERY_MS)));
      };
      this.idempotency
        .admit(request)
        .then((admission) => decide(admission))
        .catch(give);
    });
  }

  /** Whether the message was an answer for one who waits. */
  receive(message: InboxMessage): boolean {
    if (message.kind !== 'replayed') return false;
    this.#answer(message.requestId, toReply(message));
    return true;
  }

  #answer(requestId: string, reply: Reply): void {
    const waiter = this.#waiters.get(requestId);
    if (waiter && this.#forget(requestId)) waiter.resolve(reply);
  }

  #forget(requestId: string): boolean {
    clearTimeout(this.#waiters.get(requestId)?.timer);
    return this.#waiters.delete(requestId);
  }
}

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

/** A failure is no replay: the caller attached while it was under way. */
function toReply({ head, body }: { head: ReplyHead; body: string }): Reply {
  return { head, body, replayed: head.error === undefined };
}

function timedOut(): GatewayError {
  return new GatewayError('provider_timeout', 'The request was not answered before its deadline.');
}
