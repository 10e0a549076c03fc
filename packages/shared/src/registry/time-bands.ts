/** Prices that hold at some hours only. All times are UTC. A call has the price of the moment at which its answer is complete. */
import type { RegistryModel } from './document.js';

export type TimeBand = NonNullable<RegistryModel['time_bands']>[number];

export const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

/** The band of this moment. Undefined: the model's own prices hold. */
export function bandAt<B extends { band: TimeBand }>(bands: readonly B[], at: number): B | undefined {
  return bands.find(({ band }) => holdsAt(band, at));
}

/** Every band of a moment from `from` until `until`, both included. Undefined is one of them when the model's own prices hold. */
export function bandsWithin<B extends { band: TimeBand }>(
  bands: readonly B[],
  from: number,
  until: number,
): ReadonlySet<B | undefined> {
  const found = new Set([bandAt(bands, from)]);
  // Bands come again after a week.
  const end = Math.min(until, from + 8 * DAY_MS);
  for (let day = from - (from % DAY_MS); day <= end; day += DAY_MS) {
    const edges = bands.flatMap(({ band }) => [0, minuteOf(band.from), minuteOf(band.to)]);
    for (const edge of new Set(edges)) {
      const at = day + edge * MINUTE_MS;
      if (at > from && at <= end) found.add(bandAt(bands, at));
    }
  }
  return found;
}

/** The moments after `from` and before `until` at which the prices may change, in order. */
export function bandEdges(
  bands: readonly { band: TimeBand }[],
  from: number,
  until: number,
): readonly number[] {
  const edges = new Set(bands.flatMap(({ band }) => [0, minuteOf(band.from), minuteOf(band.to)]));
  const found: number[] = [];
  for (let day = from - (from % DAY_MS); day < until; day += DAY_MS)
    for (const edge of edges) found.push(day + edge * MINUTE_MS);
  return found.filter((at) => at > from && at < until).sort((a, b) => a - b);
}

function holdsAt({ from, to, days }: TimeBand, at: number): boolean {
  if (days && !days.includes(DAYS[new Date(at).getUTCDay()] ?? 'sun')) return false;
  const minute = (at % DAY_MS) / MINUTE_MS;
  const [start, end] = [minuteOf(from), minuteOf(to)];
  return start < end ? minute >= start && minute < end : minute >= start || minute < end;
}

function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}
