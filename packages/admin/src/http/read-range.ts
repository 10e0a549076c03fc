import { timeOf } from '@sluice/shared/contract/query';
import { refuse } from './read-input.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;

/** The beginning of a time that ends now: from a minute to a day ago, 15 minutes by default. */
export function readRange(
  since: string | undefined,
  now: number,
  { standard = '15m', mostMs = DAY_MS, most = 'a day' } = {},
): number {
  const time = timeOf(since ?? standard, now);
  if (!(now - time >= MINUTE_MS && now - time <= mostMs))
    refuse('since', `must be from a minute to ${most} ago`);
  return time;
}
