import type { Headers } from './types.js';

/** A provider that asks for more is asked again after a day. */
const MAX_MS = 24 * 60 * 60 * 1000;

/**
 * How long the provider asks to be left alone: `retry-after-ms`, else `retry-after` as seconds or HTTP date. A date is
 * counted from the answer's own `date`, by the provider's clock; without one from `now`.
 */
export function parseRetryAfter(headers: Headers, now: number = Date.now()): number | undefined {
  return toWait(Number.parseFloat(first(headers['retry-after-ms']))) ?? parseHeader(headers, now);
}

function parseHeader(headers: Headers, now: number): number | undefined {
  const value = first(headers['retry-after']).trim();
  if (/^\d+(\.\d+)?$/.test(value)) return toWait(Number(value) * 1000);
  // A bare number is also a year to Date.parse; an HTTP date always names its day.
  if (!/^[A-Za-z]{3}/.test(value)) return undefined;
  const sent = Date.parse(first(headers.date));
  return toWait(Math.max(0, Date.parse(value) - (Number.isNaN(sent) ? now : sent)));
}

function toWait(ms: number): number | undefined {
  return ms >= 0 ? Math.min(Math.ceil(ms), MAX_MS) : undefined;
}

function first(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? value[0] : value) ?? '';
}
