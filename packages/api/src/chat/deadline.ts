/** How much time a caller gives: a duration such as `6h`, or an instant. */
import { LONGEST_DEADLINE_MS } from '@sluice/shared/contract/common';
import { GatewayError } from '@sluice/shared/errors';

export const DEADLINE_HEADER = 'x-gateway-deadline';

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION = /^(\d{1,6})([smhd])$/;
/** An instant names its offset, because nobody knows the caller's time zone. */
const INSTANT = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;
const SHORTEST_MS = 1_000;

/** Undefined: it is no duration. */
export function durationMs(text: string): number | undefined {
  const [, count, unit = ''] = DURATION.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (UNITS[unit] ?? 0);
}

/** NaN: it is no instant. `Date.parse` takes the 30th of February for a day of March. */
function instantOf(text: string): number {
  const [, year, month, day] = INSTANT.exec(text) ?? [];
  const days = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return Number(day) <= days ? Date.parse(text) : Number.NaN;
}

/** The moment until which a request in the background has time. `now`: Redis time. */
export function readDeadline(header: string, now: number, isInBackground: boolean): number {
  if (!isInBackground)
    throw invalid('is for requests in the background: send "prefer: respond-async" with it');
  const ms = durationMs(header) ?? instantOf(header) - now;
  if (Number.isNaN(ms))
    throw invalid('must be a duration such as 90s, 15m or 6h, or an instant such as 2027-01-31T06:00:00Z');
  if (ms < SHORTEST_MS) throw invalid('must be at least a second ahead');
  if (ms > LONGEST_DEADLINE_MS) throw invalid('may be at most 48 hours ahead');
  return now + ms;
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_request', `${DEADLINE_HEADER} ${message}.`, { param: DEADLINE_HEADER });
}
