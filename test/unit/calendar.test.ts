/** Windows of time by the calendar of a zone, over changes of its clocks. */
import { windowOf } from '@sluice/shared/calendar';
import test from 'ava';

/** Clocks there are put forward over midnight, back over midnight, by half an hour, or not at all. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/Sao_Paulo',
  'America/Havana',
  'America/Asuncion',
  'Atlantic/Azores',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Pacific/Apia',
];

test('every window begins where the one before it ends, whatever clocks do', (t) => {
  for (const zone of ZONES)
    for (const unit of ['day', 'week', 'month'] as const) {
      let last = windowOf(unit, Date.UTC(2011, 0, 1), zone);
      while ((last.end ?? 0) < Date.UTC(2012, 5, 1)) {
        const next = windowOf(unit, last.end ?? 0, zone);
        const where = `${zone} ${unit} ${new Date(next.start).toISOString()}`;
        if (next.start !== last.end) t.fail(where);
        if (unit === 'day' && (next.end ?? 0) - next.start < 22 * 3_600_000) t.fail(where);
        last = next;
      }
    }
  t.pass();
});

test('days are as long as clocks make them', (t) => {
  const hours = (day: string, zone: string) => {
    const { start, end = 0 } = windowOf('day', Date.parse(day), zone);
    return [new Date(start).toISOString(), (end - start) / 3_600_000];
  };
  t.deepEqual(hours('2026-03-29T12:00Z', 'Europe/Berlin'), ['2026-03-28T23:00:00.000Z', 23]);
  t.deepEqual(hours('2026-10-25T12:00Z', 'Europe/Berlin'), ['2026-10-24T22:00:00.000Z', 25]);
  // There was no midnight.
  t.deepEqual(hours('2018-11-04T12:00Z', 'America/Sao_Paulo'), ['2018-11-04T03:00:00.000Z', 23]);
  t.deepEqual(hours('2026-11-17T12:00Z', 'Asia/Kathmandu'), ['2026-11-16T18:15:00.000Z', 24]);
});

test('an hour of a zone that is half an hour off begins at its own full hour', (t) => {
  const { start, end } = windowOf('hour', Date.parse('2026-11-17T12:10:00Z'), 'Asia/Kolkata');
  t.is(new Date(start).toISOString(), '2026-11-17T11:30:00.000Z');
  t.is(end, start + 3_600_000);
});
