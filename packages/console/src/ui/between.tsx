import { zoneName } from '../format.js';
import { momentOf, wallClock } from '../time-zone.js';
import { Field } from './field.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A time that begins and ends when somebody says. Both are moments of ISO 8601. */
export interface TimeBetween {
  since: string;
  until: string;
}

/** The hour before now, as a beginning that is then changed. */
export function lastHour(now = Date.now()): TimeBetween {
  const until = Math.floor(now / MINUTE_MS) * MINUTE_MS;
  return { since: new Date(until - HOUR_MS).toISOString(), until: new Date(until).toISOString() };
}

/** From midnight to midnight, in the chosen zone. */
function dayBefore(days: number): [begin: number, end: number] {
  const midnight = (ago: number) => {
    const today = Date.parse(`${wallClock(Date.now()).slice(0, 10)}T12:00Z`);
    const day = new Date(today - ago * 24 * HOUR_MS).toISOString().slice(0, 10);
    return momentOf(`${day}T00:00`);
  };
  return [midnight(days), midnight(days - 1)];
}

interface BetweenProps {
  between: Partial<TimeBetween>;
  /** The longest time that may be chosen. */
  mostMs?: number;
  onChange(between: TimeBetween): void;
}

/** Two moments, written in the time zone of the console. */
export function Between({ between, mostMs = Number.POSITIVE_INFINITY, onChange }: BetweenProps) {
  const { since, until } = readBetween(between) ?? lastHour();
  const [from, to] = [Date.parse(since), Date.parse(until)];
  const choose = (begin: number, end: number) =>
    onChange({
      since: new Date(begin).toISOString(),
      until: new Date(Math.min(end, begin + mostMs)).toISOString(),
    });
  // One end that passes the other, or goes too far from it, takes it along.
  const isPossible = (begin: number, end: number) => end - begin >= MINUTE_MS && end - begin <= mostMs;
  const move = {
    since: (begin: number) => choose(begin, isPossible(begin, to) ? to : begin + (to - from)),
    until: (end: number) => choose(isPossible(from, end) ? from : end - (to - from), end),
  };
  const field = (name: keyof TimeBetween, label: string, ms: number) => (
    <Field
      label={`${label}, ${zoneName(ms)}`}
      type="datetime-local"
      value={wallClock(ms)}
      onInput={(text) => {
        // A browser gives nothing until the whole moment is there.
        if (text !== '') move[name](momentOf(text));
      }}
    />
  );
  return (
    <>
      {field('since', 'From', from)}
      {field('until', 'To', to)}
      <div class="row days">
        <button type="button" class="small" onClick={() => choose(...dayBefore(0))}>
          Today
        </button>
        <button type="button" class="small" onClick={() => choose(...dayBefore(1))}>
          Yesterday
        </button>
      </div>
    </>
  );
}

/** What the address says, when it is two moments in the right order. */
export function readBetween({ since = '', until = '' }: Partial<TimeBetween>): TimeBetween | undefined {
  const [from, to] = [Date.parse(since), Date.parse(until)];
  return from < to ? { since: new Date(from).toISOString(), until: new Date(to).toISOString() } : undefined;
}
