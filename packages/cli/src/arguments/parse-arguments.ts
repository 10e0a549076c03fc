/** The forms in which options and arguments are written. Each throws a sentence that completes "… is invalid." */
import { windowOf } from '@sluice/shared/calendar';
import { read } from '@sluice/shared/contract/mistakes';
import { durationOf, timeOf } from '@sluice/shared/contract/query';
import type { Shape } from '@sluice/shared/contract/structs';
import { InvalidArgumentError } from 'commander';

const MINUTE_MS = 60_000;
/** Longer than clocks are ever put back. */
const LATER_MS = 3 * 3_600_000;

/** A value that the admin api takes as it is written. */
export function parseAs(shape: Shape): (text: string) => string {
  return (text) => {
    const [mistake] = read(shape, text).mistakes;
    if (mistake) throw new InvalidArgumentError(`It ${mistake.message}.`);
    return text;
  };
}

/** `90s`, `30m`, `12h`, `7d`, `2w`, in ms. */
export function parseDuration(text: string): number {
  const ms = durationOf(text);
  if (ms === undefined) throw new InvalidArgumentError('Write a time span such as 90s, 30m, 12h, 7d or 2w.');
  return ms;
}

/** A moment (`2027-01-31`, `2027-01-31T12:00:00Z`), or a duration from now in the given direction. In ISO 8601. */
export function parseMoment(direction: 'past' | 'future'): (text: string) => string {
  return (text) => {
    if (/^\d+[a-z]$/.test(text)) {
      const time = new Date(Date.now() + (direction === 'past' ? -1 : 1) * parseDuration(text)).toISOString();
      // Years before 0 and after 9999 have a sign.
      if (!/^\d/.test(time)) throw new InvalidArgumentError('This is too far away.');
      return time;
    }
    const time = timeOf(text, 0);
    if (Number.isNaN(time))
      throw new InvalidArgumentError(
        'Write a time span such as 12h or 7d, a date such as 2027-01-31, or a moment such as 2027-01-31T12:00:00Z.',
      );
    return new Date(time).toISOString();
  };
}

const WHEN = /^(?:(today|yesterday|\d{4}-\d\d-\d\d)(?:[ t](?=\d)|$))?(\d{1,2}:\d\d(?::\d\d)?)?$/;

/**
 * The values of --since and --until: `2h` or `2h ago`, `yesterday`, `14:00`, `yesterday 14:00`, `2026-11-16` or
 * `2026-11-16T18:35`, in the time zone of whoever asks, or a moment with a zone. A day as an end is included.
 */
export function parseWhen(is: 'beginning' | 'end', now = new Date()): (text: string) => string {
  return (text) => {
    const given = text.trim().toLowerCase();
    const duration = given.replace(/ ago$/, '');
    if (durationOf(duration) !== undefined) return duration;
    if (/\d(?:z|[+-]\d\d:\d\d)$/.test(given)) return parseMoment('past')(given.toUpperCase());
    const [found, day = 'today', clock] = WHEN.exec(given) ?? [];
    const time = found ? timeAt(day, clock, is, now) : undefined;
    if (!time)
      throw new InvalidArgumentError(
        'Write 2h ago, yesterday, 14:00, "yesterday 14:00", 2026-11-16, 2026-11-16T18:35, or a moment with its zone such as 2026-11-16T18:35:00Z.',
      );
    return time.toISOString();
  };
}

/** Undefined: there is no such day, or no such time of day. */
function timeAt(
  day: string,
  clock: string | undefined,
  is: 'beginning' | 'end',
  now: Date,
): Date | undefined {
  let date = new Date(now);
  if (/^\d/.test(day)) {
    const [year = 0, month = 0, inMonth = 0] = day.split('-').map(Number);
    date.setFullYear(year, month - 1, inMonth);
    // Date makes the third of March of the 31st of February.
    if (date.getMonth() !== month - 1 || date.getDate() !== inMonth) return undefined;
  } else if (day === 'yesterday') date.setTime(date.setHours(0, 0, 0, 0) - 1);
  const [hours = 0, minutes = 0, seconds = 0] = (clock ?? '0:00').split(':').map(Number);
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined;
  if (clock === undefined && is === 'end') date.setDate(date.getDate() + 1);
  date.setHours(hours, minutes, seconds, 0);
  if (date.getHours() !== hours || date.getMinutes() !== minutes) date = changeBefore(date);
  return clock !== undefined && is === 'end' ? lastOf(date) : date;
}

/** Clocks that were put forward have left the asked time out. It is the moment at which that happened. */
function changeBefore(date: Date): Date {
  const before = new Date(date);
  while (before.getTimezoneOffset() === date.getTimezoneOffset())
    before.setTime(before.getTime() - MINUTE_MS);
  before.setTime(before.getTime() + MINUTE_MS);
  return before;
}

/** Clocks that are put back show some times twice. An end is the second of them. */
function lastOf(date: Date): Date {
  const later = new Date(date.getTime() + LATER_MS);
  const backMs = (later.getTimezoneOffset() - date.getTimezoneOffset()) * MINUTE_MS;
  const again = new Date(date.getTime() + backMs);
  return backMs > 0 && again.toTimeString().slice(0, 8) === date.toTimeString().slice(0, 8) ? again : date;
}

export const DAYS =
  'today, yesterday, 7d ago, a day such as 2027-01-31, or a moment such as 2027-01-31T12:00:00Z';

/** A day of a zone that is not known yet. The words for today and yesterday stay words. */
export function parseDay(text: string): string {
  const given = text.trim().toLowerCase().replace(/ ago$/, '');
  if (given === 'today' || given === 'yesterday') return given;
  const day = /^\d{4}-/.test(given) ? given.toUpperCase() : given;
  if (Number.isNaN(timeOf(day, Date.now()))) throw new InvalidArgumentError(`Write ${DAYS}.`);
  return day;
}

/** `2027-01-31` for the words of `parseDay`, by the calendar of the zone. Everything else stays as it is. */
export function dayIn(zone: string, day: string | undefined, now = Date.now()): string | undefined {
  if (day !== 'today' && day !== 'yesterday') return day;
  const time = day === 'today' ? now : windowOf('day', now, zone).start - 1;
  return new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' }).format(time);
}

export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Write a whole number from 1.');
  return Number(text);
}

export function parseShard(text: string): number {
  if (!/^\d{1,2}$/.test(text)) throw new InvalidArgumentError('Write the number of a shard, from 0.');
  return Number(text);
}

export function parseAmount(text: string): number {
  if (!/^\d{1,9}(\.\d{1,12})?$/.test(text)) throw new InvalidArgumentError('Write a number such as 0.15.');
  return Number(text);
}

/** Commander turns a null that a parser returns into '', so that `none` has to stand for itself. */
export function orWord<const W extends string, T>(
  word: W,
  parse: (text: string) => T,
): (text: string) => T | W {
  return (text) => (text === word ? word : parse(text));
}

/** `provider/model`; the model's own name may hold further slashes. */
export function parseModelName(text: string): { provider: string; model: string } {
  const [, provider, model] = /^([^/]+)\/(.+)$/.exec(text) ?? [];
  if (provider === undefined || model === undefined)
    throw new InvalidArgumentError('Write <provider>/<model>, such as openai/gpt-4o-mini.');
  return { provider, model };
}
