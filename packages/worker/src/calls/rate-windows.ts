/**
 * For how long the limits hold that a provider states. A header says how much is left, and when all of it will be there again.
 * Some providers fill up steadily: then the window is that time, divided by the used part. Others begin anew at the end of each
 * window: then it is the longest of those times. So it is the larger one of the longest time and of the least quotient.
 */
import type { RateSubject } from '@sluice/shared/queue/announced-limits';
import type { BucketType } from '@sluice/shared/queue/rates';
import type { SaidRate } from '../providers/rate-headers.js';

const MINUTE_MS = 60_000;
/** A window of about this length, and what it is taken for. One that is longer is no limit per minute. */
const WINDOWS_MS = [
  [3_000, 1_000],
  [20_000, 10_000],
  [150_000, MINUTE_MS],
] as const;
const MOST = 4_000;
/** What was said longer ago counts no more. A provider may say nonsense once, or change its limits. */
const KEPT_MS = 600_000;

interface Seen {
  since: number;
  longestMs: number;
  leastMs: number;
}

export class RateWindows {
  readonly #seen = new Map<string, Seen>();

  /** In ms. Undefined when it is longer than a minute. A provider that says nothing about it means a minute. */
  of(
    subject: RateSubject,
    type: BucketType,
    { limit, remaining, resetMs }: SaidRate,
    now = performance.now(),
  ): number | undefined {
    if (resetMs === undefined) return MINUTE_MS;
    const name = `${subject.join(' ')} ${type}`;
    const known = this.#seen.get(name);
    const isFresh = known && now - known.since < KEPT_MS;
    const { longestMs, leastMs, since } = isFresh
      ? known
      : { longestMs: 0, leastMs: Number.POSITIVE_INFINITY, since: now };
    const used = limit - remaining;
    const seen: Seen = {
      since,
      longestMs: Math.max(longestMs, resetMs),
      leastMs: used > 0 ? Math.min(leastMs, (resetMs * limit) / used) : leastMs,
    };
    if (this.#seen.size >= MOST) this.#seen.clear();
    this.#seen.set(name, seen);
    const windowMs = Math.max(seen.longestMs, Number.isFinite(seen.leastMs) ? seen.leastMs : 0);
    return WINDOWS_MS.find(([mostMs]) => windowMs <= mostMs)?.[1];
  }
}
