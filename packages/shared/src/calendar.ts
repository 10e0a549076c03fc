/**
 * Days, months and windows of time. The latest answers are kept, because every request asks for the same few. They are facts of
 * the calendar and never change; only their number is bounded.
 */
const DAY_MS = 86_400_000;

let latest = { number: -1, day: '', month: '' };

/** `2026-11-15`, in UTC. */
export function dayOf(time: number): string {
  return lookUp(time).day;
}

/** `2026-11`, in UTC. */
export function monthOf(time: number): string {
  return lookUp(time).month;
}

function lookUp(time: number): typeof latest {
  const number = Math.floor(time / DAY_MS);
  if (number !== latest.number) {
    const day = new Date(time).toISOString().slice(0, 10);
    latest = { number, day, month: day.slice(0, 7) };
  }
  return latest;
}

export interface TimeWindow {
  start: number;
  /** Undefined: it never ends. */
  end: number | undefined;
}

const HOUR_MS = 3_600_000;
const MOST_KNOWN = 200;
/** Further away than the last or next change of the clocks that matters. Samoa has left out a whole day. */
const CHANGE_MS = 26 * HOUR_MS;
const ALWAYS: TimeWindow = { start: 0, end: undefined };
const offsets = new Map<string, Intl.DateTimeFormat>();
const windows = new Map<string, TimeWindow & { end: number }>();

/** The hour, day, week (from Monday) or month around this moment, by the calendar of a time zone. */
export function windowOf(
  unit: 'hour' | 'day' | 'week' | 'month' | 'total',
  now: number,
  timeZone: string,
): TimeWindow {
  if (unit === 'total') return ALWAYS;
  const key = `${unit} ${timeZone}`;
  const known = windows.get(key);
  if (known && known.start <= now && now < known.end) return known;
  const found = findWindow(unit, now, timeZone);
  if (windows.size >= MOST_KNOWN) windows.clear();
  windows.set(key, found);
  return found;
}

function findWindow(
  unit: 'hour' | 'day' | 'week' | 'month',
  now: number,
  timeZone: string,
): TimeWindow & { end: number } {
  if (unit === 'hour') return findHour(now, timeZone);
  const [first, next] = datesAround(unit, now + offsetAt(now, timeZone));
  const end = momentOf(next, timeZone);
  if (now < end) return { start: momentOf(first, timeZone), end };
  // Clocks were put back over midnight, and show the day before a second time. That is over.
  return { start: end, end: momentOf(datesAround(unit, next)[1], timeZone) };
}

/** Where clocks are put forward or back by less than an hour, there is a shorter one before and after. */
function findHour(now: number, timeZone: string): TimeWindow & { end: number } {
  const offset = offsetAt(now, timeZone);
  const start = Math.floor((now + offset) / HOUR_MS) * HOUR_MS - offset;
  const end = start + HOUR_MS;
  return {
    start: offsetAt(start, timeZone) === offset ? start : changeBetween(start, now, timeZone),
    end: offsetAt(end - 1, timeZone) === offset ? end : changeBetween(now, end, timeZone),
  };
}

/** The moment at which clocks change, to the second. `from` is before it, and `to` is not. */
function changeBetween(from: number, to: number, timeZone: string): number {
  const before = offsetAt(from, timeZone);
  let [low, high] = [Math.floor(from / 1000), Math.ceil(to / 1000)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle * 1000, timeZone) === before) low = middle;
    else high = middle;
  }
  return high * 1000;
}

/** The midnights before and after a local time, by which the day, week or month begins and ends. All are as if they were UTC. */
function datesAround(unit: 'day' | 'week' | 'month', local: number): [first: number, next: number] {
  const midnight = new Date(Math.floor(local / DAY_MS) * DAY_MS);
  const [year, month] = [midnight.getUTCFullYear(), midnight.getUTCMonth()];
  if (unit === 'month') return [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)];
  if (unit === 'week') return [weekStart(midnight), weekStart(midnight) + 7 * DAY_MS];
  return [midnight.getTime(), midnight.getTime() + DAY_MS];
}

function weekStart(midnight: Date): number {
  return midnight.getTime() - ((midnight.getUTCDay() + 6) % 7) * DAY_MS;
}

/**
 * The first moment at which clocks of the zone show this local time or a later one; it is written as if it were UTC. Where
 * clocks are put forward over midnight, there is no such time, and where they are put back, there may be two.
 */
function momentOf(local: number, timeZone: string): number {
  const shown = (moment: number) => moment + offsetAt(moment, timeZone);
  const guess = local - offsetAt(local - offsetAt(local, timeZone), timeZone);
  const moments = [guess - CHANGE_MS, guess + CHANGE_MS].map((near) => local - offsetAt(near, timeZone));
  const isFirst = (moment: number) => shown(moment) >= local && shown(moment - 1000) < local;
  const firsts = [guess, ...moments].filter(isFirst);
  return firsts.length === 0 ? guess : Math.min(...firsts);
}

/** How far clocks of the zone are ahead of UTC at this moment. */
function offsetAt(time: number, timeZone: string): number {
  if (timeZone === 'UTC') return 0;
  let format = offsets.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    if (offsets.size >= MOST_KNOWN) offsets.clear();
    offsets.set(timeZone, format);
  }
  const at = new Map(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
  const part = (name: Intl.DateTimeFormatPartTypes) => at.get(name) ?? 0;
  const shown = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  return shown - Math.floor(time / 1000) * 1000;
}
