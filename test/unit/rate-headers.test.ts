/** What providers say about their limits, and for how long these hold. */
import { RateWindows } from '@sluice/worker/calls/rate-windows';
import { providers } from '@sluice/worker/providers/index';
import { readRates, readSaidLimit } from '@sluice/worker/providers/rate-headers';
import test from 'ava';

const openai = (limit: string, remaining: string, reset?: string) => ({
  'x-ratelimit-limit-requests': limit,
  'x-ratelimit-remaining-requests': remaining,
  ...(reset === undefined ? {} : { 'x-ratelimit-reset-requests': reset }),
});

for (const [reset, resetMs] of [
  ['120ms', 120],
  ['1s', 1_000],
  ['6m0s', 360_000],
  ['2m59.56s', 179_560],
  ['1h2m3s', 3_723_000],
  ['1d', 86_400_000],
  ['30', 30_000],
  ['soon', undefined],
  ['-5', undefined],
  [`${'9'.repeat(40)}s`, undefined],
] as const)
  test(`the reset of ${reset.slice(0, 12)} is ${resetMs} ms`, (t) => {
    t.is(readRates(openai('100', '10', reset))?.r?.resetMs, resetMs);
  });

test('Anthropic says when, by the clock of its answer', (t) => {
  const said = readRates({
    date: 'Tue, 17 Nov 2026 12:00:00 GMT',
    'anthropic-ratelimit-output-tokens-limit': '8000',
    'anthropic-ratelimit-output-tokens-remaining': '0',
    'anthropic-ratelimit-output-tokens-reset': '2026-11-17T12:00:30Z',
  });
  t.deepEqual(said, { o: { limit: 8_000, remaining: 0, resetMs: 30_000 } });
});

test('what is impossible or no number counts as not said', (t) => {
  for (const [limit, remaining] of [
    ['0', '0'],
    ['10', '11'],
    ['-1', '1'],
    ['1e9', '1'],
    ['10', ''],
  ] as const)
    t.is(readRates(openai(limit, remaining)), undefined);
});

test('a refusal may name its limit in words', (t) => {
  const openaiSays =
    'Rate limit reached for x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.';
  t.deepEqual(readSaidLimit(openaiSays), { t: { limit: 30_000, windowMs: 60_000 } });
  const anthropicSays = "This would exceed your organization's rate limit of 50,000 input tokens per minute.";
  t.deepEqual(readSaidLimit(anthropicSays), { i: { limit: 50_000, windowMs: 60_000 } });
  t.deepEqual(readSaidLimit('requests per second: limit 5'), { r: { limit: 5, windowMs: 1_000 } });
  t.deepEqual(readSaidLimit('Rate limit exceeded: 1 request per second.'), {
    r: { limit: 1, windowMs: 1_000 },
  });
  t.deepEqual(readSaidLimit('Limited to 60 requests per minute.'), { r: { limit: 60, windowMs: 60_000 } });
  t.is(readSaidLimit('You have sent 75 requests per minute.'), undefined, 'that is no limit');
  t.is(readSaidLimit('Too many requests'), undefined);
});

test('the window of a limit is told by its reset', (t) => {
  const windows = new RateWindows();
  const of = (model: string, limit: number, remaining: number, resetMs?: number) =>
    windows.of(['openai', '', model], 'r', {
      limit,
      remaining,
      ...(resetMs === undefined ? {} : { resetMs }),
    });
  t.is(of('silent', 100, 10), 60_000);
  t.is(of('steady', 600, 300, 30_000), 60_000);
  t.is(of('second', 10, 2, 800), 1_000);
  t.is(of('day', 14_400, 7_000, 44_000_000), undefined);
  // It begins anew at the end of each minute. At first nobody knows.
  t.is(of('fixed', 600, 10, 2_000), 1_000);
  t.is(of('fixed', 600, 290, 40_000), 60_000);
  t.is(of('fixed', 600, 1, 50), 60_000);
  const later = performance.now() + 600_000;
  const second = { limit: 10, remaining: 2, resetMs: 800 };
  t.is(windows.of(['openai', '', 'day'], 'r', second), undefined);
  t.is(windows.of(['openai', '', 'day'], 'r', second, later), 1_000, 'what was said long ago counts no more');
});

test('a 429 about calls at a time is told from one about an amount', (t) => {
  const isCrowded = (message: string, headers = {}) =>
    providers.openai.parseError(429, headers, { error: { message } }).isCrowded === true;
  t.true(isCrowded('Too many requests'));
  t.true(isCrowded('Too many concurrent requests, limit 5 per key', { 'retry-after': '1' }));
  t.true(isCrowded('Requests in flight: 20 of 20'));
  t.false(isCrowded('Too many requests', { 'retry-after': '1' }));
  t.false(isCrowded('Too many requests', { 'x-ratelimit-remaining-requests': '0' }));
  t.false(isCrowded('Rate limit reached on requests per min (RPM): Limit 500'));
  t.false(isCrowded('You have used all tokens of this key'));
  t.false(isCrowded('Free models: 50 requests per day'));
});
