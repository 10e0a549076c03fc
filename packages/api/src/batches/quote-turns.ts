/**
 * A process reads few quotes at a time, and the others wait. Who came first is first. A workspace has one quote here
 * (quotes.ts), so one that asks without end comes after each of the others.
 */
import { GatewayError } from '@sluice/shared/errors';

const MOST_AT_ONCE = 2;
export const MOST_WAIT_MS = 60_000;
const RETRY_MS = 2_000;

export class QuoteTurns {
  /** Each takes the place of one that has ended. The first of them is next. */
  readonly #waiting = new Set<() => void>();
  #underWay = 0;

  /** Runs it when its turn comes. Throws when that has not come after a minute. */
  async during<T>(read: () => Promise<T>): Promise<T> {
    if (this.#underWay < MOST_AT_ONCE) this.#underWay += 1;
    else await this.#turn();
    try {
      return await read();
    } finally {
      const [next] = this.#waiting;
      if (next) next();
      else this.#underWay -= 1;
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        this.#waiting.delete(begin);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(begin);
        reject(tooMany());
      }, MOST_WAIT_MS);
      this.#waiting.add(begin);
    });
  }
}

function tooMany(): GatewayError {
  return new GatewayError(
    'service_unavailable',
    'Quotes of other workspaces took too long. Ask again in a moment.',
    { retryAfterMs: RETRY_MS },
  );
}
