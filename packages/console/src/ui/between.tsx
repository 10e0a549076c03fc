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
function dayBefore(days: number): TimeBetween {
  const midnight = (ago: number) => {
    const today = Date.parse(`${wallClock(Date.now()).slice(0, 10)}T12:00Z`);
    const day = new Date(today - ago * 24 * HOUR_MS).toISOString().slice(0, 10);
    return new Date(momentOf(`${day}T00:00`)).toISOString();
  };
  return { since: midnight(days), until: midnight(days - 1) };
}

interface BetweenProps {
  between: Partial<TimeBetween>;
  onChange(between: TimeBetween): void;
}

/** Two moments, written in the time zone of the console. */
export function Between({ between, onChange }: BetweenProps) {
  const { since, until } = { ...lastHour(), ...between };
  const field = (name: keyof TimeBetween, label: string, value: string) => (
    <Field
      label={`${label}, ${zoneName(Date.parse(value))}`}
      type="datetime-local"
      value={wallClock(Date.parse(value))}
      mistake={name === 'until' && until <= since ? 'Must be after the beginning' : undefined}
      onInput={(text) => {
        // A browser gives nothing until the whole moment is there.
        if (text !== '') onChange({ since, until, [name]: new Date(momentOf(text)).toISOString() });
      }}
    />
  );
  return (
    <>
      {field('since', 'From', since)}
      {field('until', 'To', until)}
      <div class="row days">
        <button type="button" class="small" onClick={() => onChange(dayBefore(0))}>
          Today
        </button>
        <button type="button" class="small" onClick={() => onChange(dayBefore(1))}>
          Yesterday
        </button>
      </div>
    </>
  );
}

/** What the address says, when it is two moments in the right order. */
export function readBetween({
  since = '',
  until = '',
}: Readonly<Record<string, string>>): TimeBetween | undefined {
  const [from, to] = [Date.parse(since), Date.parse(until)];
  return from < to ? { since: new Date(from).toISOString(), until: new Date(to).toISOString() } : undefined;
}
