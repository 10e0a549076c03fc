import type { Redis } from 'ioredis';
import { dayOf } from '../calendar.js';
import type { ShardNames } from './key-names.js';

const DAY_MS = 24 * 3_600_000;
/** Ledgers older than this are not searched. */
const MOST_DAYS = 5 * 366;

/** The days of which the shard has a ledger, the latest first. */
export async function ledgerDays(
  redis: Redis,
  names: Pick<ShardNames, 'ledger'>,
  now: number,
): Promise<string[]> {
  const days = Array.from({ length: MOST_DAYS }, (_, i) => dayOf(now - i * DAY_MS));
  const exists = await Promise.all(days.map((day) => redis.exists(names.ledger(day))));
  return days.filter((_, i) => exists[i] === 1);
}
