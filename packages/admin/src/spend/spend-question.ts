/** What a question about spend may say. */
import { DAY, type SpendQuery, timeOf } from '@sluice/shared/contract/query';
import { refuse } from '../http/read-input.js';
import { toTag } from '../log/log-filter.js';
import { daysOfMonth, localDay } from './local-day.js';
import type { SpendQuestion } from './spend.js';

const DEFAULT_DAYS = 30;
const MAX_DAYS = 3_660;
const DAY_MS = 86_400_000;

export function toSpendQuestion(query: SpendQuery, now: number): SpendQuestion {
  const { tz, by, top, tag, workspace, route, provider, model, key_id: key, user } = query;
  const filters = Object.entries({ workspace, route, provider, model, key, end_user: user });
  return {
    ...daysOf(query, now),
    timeZone: tz,
    by,
    ...(top === undefined ? {} : { top }),
    filter: Object.fromEntries(filters.filter(([, value]) => value !== undefined)),
    ...(tag ? { tags: tag.map(toTag) } : {}),
  };
}

/** The days that a question is about. Without a month they reach up to today. */
export function daysOf(
  { month, since, until, tz }: Pick<SpendQuery, 'month' | 'since' | 'until' | 'tz'>,
  now: number,
): { from: string; to: string } {
  if (month !== undefined) return daysOfMonth(month);
  const end = until === undefined ? now : timeOf(until, now);
  const beginning = since === undefined ? end - (DEFAULT_DAYS - 1) * DAY_MS : timeOf(since, now);
  if (end - beginning > MAX_DAYS * DAY_MS) refuse('since', `must be at most ${MAX_DAYS} days before until`);
  if (beginning > end) refuse('since', 'must not be after until');
  // A day that is written as such is that day wherever it is read.
  const day = (written: string | undefined, time: number) =>
    written !== undefined && DAY.test(written) ? written : localDay(time, tz);
  return { from: day(since, beginning), to: day(until, end) };
}

/** Whether the ledger in Redis has no answer: it knows no keys, end users and tags, and its days are UTC's. */
export function needsArchive({ by, timeZone, filter, tags }: SpendQuestion): boolean {
  return (
    timeZone !== 'UTC' ||
    tags !== undefined ||
    filter.key !== undefined ||
    filter.end_user !== undefined ||
    by.some((field) => ['key', 'end_user', 'tags'].includes(field) || field.startsWith('tag:'))
  );
}
