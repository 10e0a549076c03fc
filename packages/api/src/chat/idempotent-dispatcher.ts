/**
 * Requests with an Idempotency-Key. The first one runs; the same request again, sent to whichever api process, waits for
 * that one's answer or is given the kept one. Who waits is registered in Redis and answered when the request is settled.
 */
import type { ChatRequest } from '@sluice/shared/chat';
import { GatewayError } from '@sluice/shared/errors';
import type { Idempotency, Leader } from '@sluice/shared/queue/idempotency';
import type { ChatJob, ReplyHead } from '@sluice/shared/queue/job';
import type { Clock } from '@sluice/shared/redis/clock';
import type { InboxMessage } from '../cell/inbox.js';
import { isRedisAway } from '../http/redis-away.js';
import type { Dispatcher, Reply } from './dispatcher.js';

/**
 * How often one who waits looks whether the request is still under way. Missing twice in a row, it is lost: no command of
 * a live api process takes this long, so a request that is just being queued is not taken for lost.
 */
const LOOK_EVERY_MS = 1_500;

const MAX_LENGTH = 255;

interface Waiter {
  timer: NodeJS.Timeout | undefined;
  resolve(reply: Reply): void;
}

export class IdempotentDispatcher {
  readonly #waiters = new Map<string, Waiter>();

  constructor(
    private readonly dispatcher: Dispatcher,
    private readonly idempotency: Idempotency,
    private readonly clock: Clock,
  ) {}

  /** The record's digest, as it travels in the job. */
  digestOf(key: string): string {
    return this.idempotency.digestOf(key);
  }

  /** `body`: as the caller sent it. */
  async dispatch(job: ChatJob, parsed: ChatRequest, key: string, body: string): Promise<Reply> {
    if (!/^[\x20-\x7e]+$/.test(key) || key.length > MAX_LENGTH) {
      const message = `Idempotency-Key must be 1 to ${MAX_LENGTH} printable ASCII characters.`;
      throw new GatewayError('invalid_request', message, { param: 'Idempotency-Key' });
    }
    const { requestId, workspace, deadline, inbox, chain } = job;
    const timeoutMs = deadline - this.clock.now();
    const request = { workspace, key, body, requestId, inbox, timeoutMs, chain };

    return new Promise<Reply>((resolve, reject) => {
      // Registered before Redis knows of it: the answer may come with the same breath.
      const waiter: Waiter = { timer: undefined, resolve };
      this.#waiters.set(requestId, waiter);
      const give = (error: unknown) => {
        if (this.#forget(requestId)) reject(error);
      };
      const decide = async (leader?: Leader, takeOver = false): Promise<void> => {
        const admission = await this.idempotency.admit(request, leader, takeOver);
        if (!this.#waiters.has(requestId)) return;
        switch (admission.as) {
          case 'conflict':
            return give(
              new GatewayError('idempotency_conflict', 'This Idempotency-Key was used with another body.', {
                param: 'Idempotency-Key',
              }),
            );
          case 'replay':
            return this.#answer(requestId, { head: admission.head, body: admission.body, replayed: true });
          case 'new':
            return this.#answer(requestId, await this.dispatcher.dispatch(job, parsed));
          case 'attached':
            // The first time nobody has looked for it yet.
            return lookLater(admission.to, leader === admission.to && !admission.underWay);
        }
      };
      const lookLater = (leader: Leader, missing: boolean) => {
        const left = deadline - this.clock.now();
        const look = () => {
          if (left <= LOOK_EVERY_MS) give(timedOut());
          else
            decide(leader, missing).catch((error) =>
              isRedisAway(error) ? lookLater(leader, false) : give(error),
            );
        };
        waiter.timer = setTimeout(look, Math.max(0, Math.min(left, LOOK_EVERY_MS)));
      };
      decide().catch(give);
    });
  }

  /** Whether the message was an answer for one who waits. */
  receive(message: InboxMessage): boolean {
    if (message.get('replayed') === undefined) return false;
    const head = JSON.parse(message.get('head') ?? '') as ReplyHead;
    const replayed = head.error === undefined;
    this.#answer(message.get('id') ?? '', { head, body: message.get('body') ?? '', replayed });
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

function timedOut(): GatewayError {
  return new GatewayError('provider_timeout', 'The request was not answered before its deadline.');
}
