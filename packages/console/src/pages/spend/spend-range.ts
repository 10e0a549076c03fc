/** Which days the page shows: the last few, a calendar month, or any two days and what is between them. */
import type { Place } from '../../location.js';

export const PERIODS = [
  ['1', 'Today'],
  ['7', '7 days'],
  ['30', '30 days'],
  ['month', 'Month'],
  ['dates', 'Dates'],
] as const;
export type Period = (typeof PERIODS)[number][0];

export const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;
const DAY = /^\d{4}-\d\d-\d\d$/;
const DAY_MS = 86_400_000;
/** More days than these are drawn as months. */
const MAX_BARS = 93;

export interface Range {
  chosen: Period;
  /** Parameters of `/spend`. */
  query: Record<string, string>;
  /** What a bar of the chart stands for. */
  period: 'day' | 'month';
}

export function readRange({ query }: Place, now = Date.now()): Range {
  const today = new Date(now).toISOString().slice(0, 10);
  if (query.days === 'month')
    return { chosen: 'month', query: { month: monthOf(query.month, now) }, period: 'day' };
  if (query.days === 'dates') {
    const until = isDay(query.until) ? query.until : today;
    const since = isDay(query.since) && query.since <= until ? query.since : until;
    const days = (Date.parse(until) - Date.parse(since)) / DAY_MS + 1;
    return { chosen: 'dates', query: { since, until }, period: days > MAX_BARS ? 'month' : 'day' };
  }
  const chosen = PERIODS.find(([each]) => each === query.days)?.[0] ?? '7';
  return { chosen, query: { since: `${Number(chosen) - 1}d` }, period: 'day' };
}

/** The month that was asked for, or this one. */
export function monthOf(asked: string | undefined, now = Date.now()): string {
  return asked !== undefined && MONTH.test(asked) ? asked : new Date(now).toISOString().slice(0, 7);
}

/** This month and those before it, the newest first. */
export function lastMonths(count: number, now = Date.now()): string[] {
  const today = new Date(now);
  return Array.from({ length: count }, (_, i) =>
    new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - i, 1)).toISOString().slice(0, 7),
  );
}

/** UTC, and the time zone of this browser. */
export function timeZones(asked: string | undefined): string[] {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return [...new Set(['UTC', own, asked ?? 'UTC'])];
}

function isDay(text: string | undefined): text is string {
  return text !== undefined && DAY.test(text) && !Number.isNaN(Date.parse(text));
}
