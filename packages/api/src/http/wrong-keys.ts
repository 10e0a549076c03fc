/**
 * Callers who send wrong keys. The operator sees them in the log, by address, and as a metric. The more wrong keys an
 * address sends, the slower it is answered. A right key is never delayed, because many callers may share an address.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '@sluice/shared/errors';
import type { Logger } from '@sluice/shared/process/logger';
import ipaddr from 'ipaddr.js';

/** The longest delay of an answer, and the most delayed answers at once. Beyond that a request is refused at once. */
const MAX_HELD_MS = 5_000;
const MAX_HELD = 1_000;
const MAX_ADDRESSES = 10_000;
const LOG_EVERY_MS = 10_000;
const MAX_LINES = 100;

/** How many wrong keys of one address are answered without delay, and after what time one more is. */
const PACE = { public: { burst: 100, everyMs: 100 }, admin: { burst: 10, everyMs: 1_000 } } as const;

interface Caller {
  /** When all wrong keys of the address would be answered, if each waited for its turn. */
  servedAt: number;
  /** Wrong keys since the latest log line. */
  unlogged: number;
  loggedAt: number;
}

export class WrongKeys {
  readonly #callers = new Map<string, Caller>();
  #held = 0;
  #lines = 0;
  #linesSince = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly listener: keyof typeof PACE,
    private readonly logger: Logger,
    private readonly count: (listener: string) => void,
    private readonly now = () => performance.now(),
  ) {}

  /** Resolves when the refusal may be answered. Throws `rate_limited` when too many wait already. */
  async slowDown(address: string | undefined): Promise<void> {
    const { burst, everyMs } = PACE[this.listener];
    const now = this.now();
    const caller = this.#callerAt(address ?? '', now);
    this.count(this.listener);
    this.#tell(address, caller, now);
    const servedAt = Math.max(caller.servedAt, now) + everyMs;
    const delayMs = servedAt - now - burst * everyMs;
    if (delayMs > MAX_HELD_MS || (delayMs > 0 && this.#held >= MAX_HELD))
      throw new GatewayError('rate_limited', 'Too many wrong keys have come from this address.', {
        retryAfterMs: delayMs,
        reason: 'key_guessing',
        headers: { 'x-should-retry': 'false' },
      });
    caller.servedAt = servedAt;
    if (delayMs <= 0) return;
    this.#held++;
    await sleep(delayMs, undefined, { ref: false });
    this.#held--;
  }

  #callerAt(address: string, now: number): Caller {
    const key = networkOf(address);
    const caller = this.#callers.get(key) ?? {
      servedAt: now,
      unlogged: 0,
      loggedAt: Number.NEGATIVE_INFINITY,
    };
    // The address moves to the end of the map, so that the first one has been quiet the longest.
    this.#callers.delete(key);
    this.#callers.set(key, caller);
    if (this.#callers.size > MAX_ADDRESSES) {
      const [quietest] = this.#callers.keys();
      if (quietest !== undefined) this.#callers.delete(quietest);
    }
    return caller;
  }

  #tell(address: string | undefined, caller: Caller, now: number): void {
    caller.unlogged++;
    if (now - caller.loggedAt < LOG_EVERY_MS) return;
    if (now - this.#linesSince >= LOG_EVERY_MS) [this.#lines, this.#linesSince] = [0, now];
    if (this.#lines++ >= MAX_LINES) return;
    const { listener, logger } = this;
    logger.warn({ listener, address, count: caller.unlogged }, 'wrong keys from this address');
    caller.loggedAt = now;
    caller.unlogged = 0;
  }
}

/** One caller has a whole /64 of IPv6 to itself. */
function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 8).join('.');
}
