import { waitBeforeRetry } from '@sluice/worker/calls/retry-wait';
import { failureOf } from '@sluice/worker/providers/failure';
import test from 'ava';

test('the wait before a retry doubles, is spread by chance, and ends at five seconds', (t) => {
  const failure = failureOf('server_error', 500);
  const least = [0, 1, 2, 9].map((calls) => waitBeforeRetry(calls, failure, () => 0));
  const most = [0, 1, 2, 9].map((calls) => waitBeforeRetry(calls, failure, () => 1));
  t.deepEqual(least, [100, 200, 400, 2_500]);
  t.deepEqual(most, [200, 400, 800, 5_000]);
});

test('a provider that names a time is not called before it, and not waited for when that is long', (t) => {
  const overloaded = (retryAfterMs: number) => ({ ...failureOf('overloaded', 503), retryAfterMs });
  const wait = waitBeforeRetry(0, overloaded(2_000), () => 0) ?? 0;
  t.true(wait >= 2_000 && wait < 3_000, String(wait));
  t.is(waitBeforeRetry(0, overloaded(60_000)), undefined);
});

test('what no retry can mend is not tried again', (t) => {
  t.is(waitBeforeRetry(0, failureOf('bad_request', 400)), undefined);
  t.is(waitBeforeRetry(0, { ...failureOf('rate_limited', 429), coolDown: 'model' }), undefined);
  t.is(waitBeforeRetry(0, { ...failureOf('server_error'), outcome: 'unsupported' }), undefined);
});
