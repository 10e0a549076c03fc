import type { ChatJob } from '@sluice/shared/queue/job';
import { failedLogEntry } from '@sluice/shared/queue/request-log';
import { RedisClock } from '@sluice/shared/redis/clock';
import test from 'ava';
import type { Redis } from 'ioredis';

test.serial('a step of the machine’s clock does not move Redis time in a process', async (t) => {
  const clock = new RedisClock();
  const redis = { time: async () => ['1000', '500000'] } as unknown as Redis;
  await clock.synchronise(redis, 1);
  const before = clock.now();
  const { now } = Date;
  Date.now = () => now() + 600_000;
  t.teardown(() => {
    Date.now = now;
  });
  const passed = clock.now() - before;
  t.true(passed >= 0 && passed < 60_000, String(passed));
  t.true(Math.abs(before - 1_000_500) < 60_000);
  t.true(Number.isInteger(clock.now()));
});

test('a request takes no less time than its calls, although two processes measured it', (t) => {
  const job = {
    acceptedAt: 1_000,
    attempts: [
      { provider: 'a', model: 'm', outcome: 'error', ms: 20.5 },
      { provider: 'b', model: 'm', outcome: 'skipped' },
      { provider: 'b', model: 'm', outcome: 'ok', ms: 30 },
    ],
  } as unknown as ChatJob;
  const reason = 'answer_gone';
  t.is(failedLogEntry(job, 'provider_error', reason, 1_040).settledAt, 1_051);
  t.is(failedLogEntry(job, 'provider_error', reason, 1_100).settledAt, 1_100);
});
