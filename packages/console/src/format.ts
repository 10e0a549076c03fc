/** Numbers and moments as people read them. */
import { timeZone } from './time-zone.js';

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const formats = new Map<string, Intl.DateTimeFormat>();

/** A moment in the chosen time zone. */
function inZone(value: string | number | Date, options: Intl.DateTimeFormatOptions): string {
  const name = `${timeZone()} ${Object.keys(options)}`;
  const format =
    formats.get(name) ??
    new Intl.DateTimeFormat('en', { ...options, hourCycle: 'h23', timeZone: timeZone() });
  formats.set(name, format);
  return format.format(new Date(value));
}

const MINUTES = { hour: '2-digit', minute: '2-digit' } as const;
const CLOCK = { ...MINUTES, second: '2-digit' } as const;
const ZONE = { timeZoneName: 'short' } as const;
const DAY = { day: 'numeric', month: 'short' } as const;
const DATE = { ...DAY, year: 'numeric' } as const;

export const NOTHING = '–';

export const count = (value: number) => whole.format(value);
/** `1 request`, `2 requests`. */
export const counted = (value: number, one: string, many = `${one}s`) =>
  `${count(value)} ${value === 1 ? one : many}`;
export const short = (value: number) => compact.format(value);

/** 128K, 1M: context windows are round numbers. */
export function tokens(value: number | undefined): string {
  if (value === undefined) return NOTHING;
  return value < 10_000 ? count(value) : short(value);
}

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return NOTHING;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

/** What is left of a time, in whole seconds, because a figure that changes all the time cannot be read. */
export function seconds(ms: number): string {
  const left = Math.max(1, Math.ceil(ms / 1000));
  return left < 60 ? `${left} s` : duration(left * 1000);
}

/** How long ago, roughly. */
export function ago(moment: string | null, now = Date.now()): string {
  if (moment === null) return 'never';
  const seconds = Math.max(0, Math.round((now - Date.parse(moment)) / 1000));
  if (seconds < 5) return 'just now';
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** `14:05:12 UTC`, never on two lines. */
export function timeOfDay(moment: string | number): string {
  return inZone(moment, { ...CLOCK, ...ZONE }).replace(' ', '\u00a0');
}

/** `14:05`, on an axis. */
export function minute(moment: number): string {
  return inZone(moment, MINUTES);
}

/** The time, with the day where that is not today. */
export function moment(value: string | number, now = Date.now()): string {
  if (inZone(value, DATE) === inZone(now, DATE)) return timeOfDay(value);
  return `${sameYear(value, now) ? inZone(value, DAY) : inZone(value, DATE)}, ${timeOfDay(value)}`;
}

function sameYear(a: string | number, b: number): boolean {
  return inZone(a, { year: 'numeric' }) === inZone(b, { year: 'numeric' });
}

export function date(value: string | number): string {
  return inZone(value, DATE);
}

/** `UTC` or `GMT+1`. */
export function zoneName(at = Date.now()): string {
  return inZone(at, ZONE).replace(/^.*, /, '');
}

/** Cents where there are any; small amounts with what makes them differ from nothing. */
export function usd(value: number | string): string {
  const amount = Number(value);
  if (amount === 0) return '$0';
  const size = Math.abs(amount);
  const digits = size >= 1 ? 2 : size >= 0.01 ? 4 : 6;
  return `${amount < 0 ? '−' : ''}$${size.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

/** On an axis: no more digits than the step needs. */
export function usdShort(value: number): string {
  return `$${value.toLocaleString('en', { maximumSignificantDigits: 3 })}`;
}

/** Per million tokens. */
export function price(value: number | undefined): string {
  if (value === undefined) return NOTHING;
  return `$${value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 6 })}`;
}

export function percent(part: number, total: number): string {
  if (total === 0) return NOTHING;
  const share = (100 * part) / total;
  if (share > 0 && share < 0.1) return '<0.1%';
  return `${share.toFixed(share < 10 && share > 0 ? 1 : 0)}%`;
}

export function bytes(value: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const step = value < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log(value) / Math.log(1024)));
  return `${(value / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}

export function rate(perSecond: number): string {
  return perSecond >= 100 ? count(perSecond) : perSecond.toFixed(perSecond >= 10 ? 1 : 2);
}
