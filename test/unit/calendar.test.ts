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

test('every moment of a window has the same one, whoever asks first and when', (t) => {
  const HOUR_MS = 3_600_000;
  const edges = [
    // An ordinary midnight of a zone that is half an hour off.
    ['Asia/Kolkata', '2026-11-17T18:30Z'],
    ['Asia/Kathmandu', '2026-11-30T18:15Z'],
    // By half an hour, at night and over midnight.
    ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
    ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
    ['Asia/Pyongyang', '2018-05-04T15:00Z'],
    ['America/Caracas', '2016-05-01T07:00Z'],
    // Back over midnight: a minute after it, the day before comes again.
    ['America/St_Johns', '2010-11-07T02:31Z'],
    ['America/Havana', '2026-11-01T05:00Z'],
    ['Europe/Berlin', '2026-10-25T01:00Z'],
  ] as const;
  for (const [zone, edge] of edges)
    for (const unit of ['hour', 'day', 'week', 'month'] as const) {
      let last: ReturnType<typeof windowOf> | undefined;
      const from = Date.parse(edge) - 3 * HOUR_MS;
      for (let now = from; now < from + 6 * HOUR_MS; now += 5 * 60_000 - 1) {
        // Another window is asked for in between, so that this one is found anew.
        windowOf(unit, now + 400 * 24 * HOUR_MS, zone);
        const found = windowOf(unit, now, zone);
        const where = `${zone} ${unit} ${new Date(now).toISOString()}`;
        t.true(found.start <= now && now < (found.end ?? 0), where);
        if (last && now < (last.end ?? 0)) t.deepEqual(found, last, where);
        else if (last) t.is(found.start, last.end ?? 0, where);
        last = found;
      }
    }
});
