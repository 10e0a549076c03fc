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
  const offset = offsetAt(now, timeZone);
  const local = now + offset;
  if (unit === 'hour') {
    const start = Math.floor(local / HOUR_MS) * HOUR_MS - offset;
    return { start, end: start + HOUR_MS };
  }
  const midnight = new Date(Math.floor(local / DAY_MS) * DAY_MS);
  const [year, month] = [midnight.getUTCFullYear(), midnight.getUTCMonth()];
  const [first, next] =
    unit === 'month'
      ? [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)]
      : unit === 'week'
        ? [weekStart(midnight), weekStart(midnight) + 7 * DAY_MS]
        : [midnight.getTime(), midnight.getTime() + DAY_MS];
  const start = momentOf(first, timeZone);
  // Where clocks are put back over midnight, the day before comes a second time for an hour.
  const end = Math.max(momentOf(next, timeZone), Math.ceil((now + 1) / HOUR_MS) * HOUR_MS);
  return { start, end };
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
