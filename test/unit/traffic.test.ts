import { LogIndex } from '@sluice/admin/log/log-index';
import { Durations, Traffic } from '@sluice/admin/log/traffic';
import type { Attempt } from '@sluice/shared/queue/job';
import type { LogEntry } from '@sluice/shared/queue/request-log';
import test from 'ava';
import fc from 'fast-check';

test('a quantile is right to within three per cent', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 600_000 }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.5, 0.95, 0.99),
      (times, share) => {
        const durations = new Durations();
        for (const ms of times) durations.add(ms);
        const exact = times.sort((a, b) => a - b)[Math.max(1, Math.ceil(share * times.length)) - 1] ?? 0;
        const found = durations.quantile(share) ?? -1;
        return found >= Math.min(exact, 1) - 1 && found >= exact * 0.97 - 1 && found <= exact * 1.031 + 1;
      },
    ),
  );
  t.is(new Durations().quantile(0.5), null);
});

function entry(at: number, route: string | null, attempts: Attempt[], tookMs = 100): LogEntry {
  const last = attempts.at(-1);
  const usage = { input: 1, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 1 };
  const isServed = last?.outcome === 'ok';
  return {
    id: `r${at}`,
    acceptedAt: at - tookMs,
    settledAt: at,
    workspace: 'demo',
    keyId: 'k',
    model: route ?? 'gpt-4o',
    route,
    status: isServed ? 200 : 502,
    code: isServed ? null : 'provider_error',
    attempts,
    queueMs: 1,
    ...(isServed && last ? { served: { ...last, latencyMs: 9, usage, cost: 1, price: null } } : {}),
  };
}

test('an entry behind the first is a fallback, also where it has the same provider and model', (t) => {
  const call: Attempt = { provider: 'openai', model: 'a', outcome: 'ok', ms: 1 };
  const byFirst = entry(1_000, 'fast', [call]);
  const bySecond = entry(1_001, 'fast', [{ ...call, outcome: 'timeout' }, call]);
  if (bySecond.served) bySecond.served.entry = 1;
  const index = new LogIndex(10);
  for (const each of [byFirst, bySecond]) index.add(`${each.settledAt}-0`, each);
  const fallbacks: boolean[] = [];
  index.visit(0, 10, ({ fallback }) => fallbacks.push(fallback));
  t.deepEqual(fallbacks, [false, true]);
});

test('traffic counts what was asked since then, who served it, and what failed', (t) => {
  const first: Attempt = { provider: 'openai', model: 'a', outcome: 'ok', ms: 1 };
  const failed: Attempt = { ...first, outcome: 'server_error' };
  const second: Attempt = { provider: 'anthropic', model: 'b', outcome: 'ok', ms: 1 };
  const index = new LogIndex(100);
  const log = [
    entry(500, 'fast', [first]),
    entry(1_000, 'fast', [first]),
    entry(1_500, 'fast', [failed, second], 400),
    entry(2_500, 'fast', [failed]),
    entry(2_600, null, [{ ...first, outcome: 'unknown' }, first]),
  ];
  for (const each of log) index.add(`${each.settledAt}-0`, each);
  const traffic = new Traffic(1_000, 1_000, 2);
  const middle = index.visit(index.positionOf('1000-0'), 2, (request) => traffic.add(request));
  t.is(
    index.visit(middle, 100, (request) => traffic.add(request)),
    index.end,
  );

  t.is(traffic.all.requests, 4);
  t.is(traffic.all.failed, 1);
  t.is(traffic.fallbacks, 1, 'a second run of the same entry is none');
  t.deepEqual(
    traffic.buckets.map(({ requests }) => requests),
    [2, 2],
  );
  t.deepEqual(traffic.codes, [{ code: 'provider_error', requests: 1 }]);
  const route = traffic.route('demo', 'fast');
  t.deepEqual([route.requests, route.failed, route.fallbacks], [3, 1, 1]);
  t.is(route.servedBy('openai', 'a'), 1);
  t.is(route.servedBy('anthropic', 'b'), 1);
  t.is(traffic.route('demo', null).servedBy('openai', 'a'), 1);
  t.is(traffic.route('other', 'fast').requests, 0);
});
