import { type LogFilter, matches } from '@sluice/admin/log/log-filter';
import { LogIndex } from '@sluice/admin/log/log-index';
import type { LogEntry } from '@sluice/shared/queue/request-log';
import test from 'ava';
import fc from 'fast-check';

const names = fc.constantFrom('a', 'b', 'c');
const entries = fc.array(
  fc.record({
    gap: fc.integer({ min: 0, max: 2 }),
    workspace: names,
    route: fc.option(names),
    provider: fc.option(names),
    model: names,
    keyId: names,
    status: fc.constantFrom(200, 404, 429, 502),
  }),
  { maxLength: 60 },
);

function entryOf(
  id: string,
  { workspace, route, provider, model, keyId, status }: Record<string, unknown>,
): LogEntry {
  const attempts = provider === null ? [] : [{ provider, model: `${model}-called`, outcome: 'ok' }];
  const code = status === 200 ? null : 'provider_error';
  const times = { acceptedAt: 0, settledAt: 0, queueMs: 0 };
  return { id, workspace, route, model, keyId, status, code, attempts, ...times } as LogEntry;
}

const filters: fc.Arbitrary<LogFilter> = fc.record(
  {
    since: fc.integer({ min: 0, max: 80 }),
    workspace: names,
    route: names,
    provider: names,
    model: fc.constantFrom('a', 'b-called'),
    key: names,
    code: fc.constant('provider_error'),
    status: fc.constantFrom({ from: 400, to: 499 }, { from: 200, to: 200 }),
  },
  { requiredKeys: [] },
);

test('a search finds what looking at every entry finds, newest first, in a ring of any size', (t) => {
  fc.assert(
    fc.property(
      entries,
      filters,
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 70 }),
      (all, filter, limit, max) => {
        const index = new LogIndex(max);
        let ms = 1;
        const log = all.map(({ gap, ...fields }, i) => {
          ms += gap;
          const id = `${ms}-${i}`;
          const entry = entryOf(`request-${i}`, fields);
          index.add(id, entry);
          return { id, ms, entry };
        });
        const known = log.slice(-max);
        t.is(index.size, known.length);
        const expected = known
          .filter((each) => matches(each.entry, filter) && each.ms >= (filter.since ?? 0))
          .map(({ id }) => id)
          .reverse()
          .slice(0, limit);
        t.deepEqual(
          index.search(filter, 0, index.end, limit).map((at) => index.idAt(at)),
          expected,
        );
        for (const { id, entry } of known.slice(0, 3))
          t.deepEqual(
            index.findRequest(entry.id).map((at) => index.idAt(at)),
            [id],
          );
      },
    ),
  );
});

test('what the log has dropped is forgotten', (t) => {
  const index = new LogIndex(100);
  const fields = { workspace: 'a', route: null, provider: null, model: 'm', keyId: 'k', status: 200 };
  for (let i = 0; i < 10; i++) index.add(`5-${i}`, entryOf(`r${i}`, fields));
  index.dropBefore('5-7');
  t.deepEqual(
    index.search({}, 0, index.end, 10).map((at) => index.idAt(at)),
    ['5-9', '5-8', '5-7'],
  );
  index.dropBefore(undefined);
  t.is(index.size, 0);
  t.is(index.newestId, undefined);
  index.add('6-0', entryOf('late', fields));
  t.is(index.newestId, '6-0');
});
