/** What a question about spend may say. */
import type { SpendField } from '@sluice/shared/admin-api';
import { type ConfigReader, isAbsent } from '@sluice/shared/config/reader';
import { daysOfMonth, isTimeZone, localDay } from './local-day.js';
import { readTagFilter } from './log-filter.js';
import { readMoment } from './read-moment.js';
import { SPEND_FIELDS, type SpendQuestion } from './spend.js';

const DEFAULT_DAYS = 30;
const MAX_DAYS = 3_660;
const DAY_MS = 86_400_000;
const MAX_FIELDS = 8;
const TEXT = { pattern: /^[^\p{Cc}]{1,256}$/u, allowed: 'a text of 1 to 256 characters' };
const TOP = { pattern: /^[1-9]\d{0,3}$/, allowed: 'a whole number from 1 to 9999' };
// Date.UTC takes the years 0 to 99 for 1900 to 1999.
const MONTH = { pattern: /^[12]\d{3}-(?:0[1-9]|1[0-2])$/, allowed: 'a month such as 2026-11' };
const TAG_FIELD = /^tag:[^\p{Cc},]{1,64}$/u;
const FILTERS = ['workspace', 'route', 'provider', 'model'] as const;

export const SPEND_PARAMETERS = [
  'since',
  'until',
  'month',
  'tz',
  'by',
  'top',
  'key_id',
  'tag',
  ...FILTERS,
] as const;

type Query = Readonly<Record<string, unknown>> | undefined;

export function readSpendQuestion(reader: ConfigReader, query: Query, now: number): SpendQuestion {
  const timeZone = isAbsent(query?.tz) ? 'UTC' : reader.text(query.tz, 'tz', TEXT);
  if (!isTimeZone(timeZone)) reader.mistake('tz', 'must be a time zone such as Europe/Berlin or UTC');
  const names = [...FILTERS.map((name) => [name, name] as const), ['key', 'key_id'] as const];
  const filter = Object.fromEntries(
    names
      .filter(([, parameter]) => !isAbsent(query?.[parameter]))
      .map(([field, parameter]) => [field, reader.text(query?.[parameter], parameter, TEXT)]),
  );
  const tags = readTagFilter(reader, query?.tag);
  return {
    ...readDays(reader, query, now, isTimeZone(timeZone) ? timeZone : 'UTC'),
    timeZone,
    by: readBy(reader, query?.by),
    ...(isAbsent(query?.top) ? {} : { top: Number(reader.text(query.top, 'top', TOP)) }),
    filter,
    ...(tags ? { tags } : {}),
  };
}

function readDays(
  reader: ConfigReader,
  query: Query,
  now: number,
  timeZone: string,
): { from: string; to: string } {
  if (!isAbsent(query?.month)) {
    if (!isAbsent(query.since) || !isAbsent(query.until))
      reader.mistake('month', 'goes without since and until');
    return daysOfMonth(reader.text(query.month, 'month', MONTH));
  }
  const until = readMoment(reader, query?.until, 'until', now) ?? now;
  const since = readMoment(reader, query?.since, 'since', now) ?? until - (DEFAULT_DAYS - 1) * DAY_MS;
  if (until - since > MAX_DAYS * DAY_MS)
    reader.mistake('since', `must be at most ${MAX_DAYS} days before until`);
  if (since > until) reader.mistake('since', 'must not be after until');
  if (reader.mistakes.length > 0) return { from: '', to: '' };
  // A day that is written as such is that day wherever it is read.
  const day = (written: unknown, time: number) =>
    typeof written === 'string' && /^\d{4}-\d\d-\d\d$/.test(written) ? written : localDay(time, timeZone);
  return { from: day(query?.since, since), to: day(query?.until, until) };
}

function readBy(reader: ConfigReader, value: unknown): SpendField[] {
  const names = isAbsent(value) ? ['workspace'] : typeof value === 'string' ? value.split(',') : [''];
  const fields = names.slice(0, MAX_FIELDS).map((name) => {
    if (TAG_FIELD.test(name)) return name as SpendField;
    return reader.oneOf(name, 'by', SPEND_FIELDS);
  });
  return [...new Set(fields.filter((field) => field !== undefined))];
}

/** Whether the ledger in Redis has no answer: it knows no keys and no tags, and its days are UTC's. */
export function needsArchive({ by, timeZone, filter, tags }: SpendQuestion): boolean {
  return (
    timeZone !== 'UTC' ||
    tags !== undefined ||
    filter.key !== undefined ||
    by.some((field) => field === 'key' || field.startsWith('tag:'))
  );
}
