/**
 * Calls of providers that an operator asks for. A worker makes them: an api process has no provider key. A question waits in
 * memory until its verdict is in the inbox or its time is over; a verdict that comes later is dropped.
 */
import type { ProviderVerdict } from '@sluice/shared/admin-api';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { InboxMessage } from '@sluice/shared/queue/inbox';
import { makeRequestId } from '@sluice/shared/request-id';

/** Longer than the worker waits for the provider. */
const PATIENCE_MS = 40_000;

export class ProviderTests {
  readonly #waiting = new Map<string, (verdict: ProviderVerdict) => void>();

  constructor(
    private readonly inboxId: string,
    private readonly queue: ChatQueue,
  ) {}

  async ask(provider: string, model: string): Promise<ProviderVerdict> {
    const requestId = makeRequestId();
    const answered = new Promise<ProviderVerdict>((resolve) => {
      const problem = `no worker has answered within ${PATIENCE_MS / 1000} s; is one running, or the queue paused?`;
      const late = setTimeout(
        () => resolve({ ...failed(provider, model, problem), ms: PATIENCE_MS }),
        PATIENCE_MS,
      );
      this.#waiting.set(requestId, (verdict) => {
        clearTimeout(late);
        resolve(verdict);
      });
    }).finally(() => this.#waiting.delete(requestId));
    await this.queue.addTest(provider, { requestId, inbox: this.inboxId, model });
    return answered;
  }

  /** Whether the message was a verdict. */
  receive(message: InboxMessage): boolean {
    if (message.kind !== 'tested') return false;
    this.#waiting.get(message.requestId)?.(message.verdict);
    return true;
  }
}

/** Without a call. */
export function failed(provider: string, model: string | null, problem: string): ProviderVerdict {
  return { object: 'provider_test', provider, model, works: false, problem, status: null, ms: 0 };
}
