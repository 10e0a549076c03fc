import type { ChatJob } from '@sluice/shared/queue/job';
import { failedLogEntry } from '@sluice/shared/queue/request-log';
import { RedisClock } from '@sluice/shared/redis/clock';
import { keyNames } from '@sluice/shared/redis/key-names';
import test from 'ava';
import type { Redis } from 'ioredis';

const names = keyNames('test');

/** A Redis that answers the one script of the clock. */
function answering(sendCommand: () => Promise<number>): Redis {
  return { sendCommand } as unknown as Redis;
}

test.serial('a step of the machine’s clock does not move Redis time in a process', async (t) => {
  const clock = new RedisClock(names);
  const redis = answering(async () => 1_000_500);
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

for (const [who, beforeMs, afterMs] of [
  ['this process, before Redis’ answer has come', 1, 3_000],
  ['Redis, before it has looked at its clock', 3_000, 1],
  ['nobody', 1, 1],
] as const)
  test.serial(`Redis time is right when this stops while it is asked for: ${who}`, async (t) => {
    const { now } = performance;
    t.teardown(() => {
      performance.now = now;
    });
    let passed = 5_000;
    performance.now = () => passed;
    const REDIS_AHEAD = 1_000_000;
    const answer = (before: number, after: number) =>
      answering(async () => {
        passed += before;
        const time = passed + REDIS_AHEAD;
        passed += after;
        return time;
      });
    const clock = new RedisClock(names);
    await clock.synchronise(answer(1, 1));
    await clock.synchronise(answer(beforeMs, afterMs), 1);
    t.true(Math.abs(clock.now() - passed - REDIS_AHEAD) <= 2, `${clock.now() - passed - REDIS_AHEAD} ms off`);
    // Another Redis, whose clock is elsewhere, has taken its place.
    passed += 500_000;
    await clock.synchronise(
      answering(async () => 7_000_000),
      1,
    );
    t.is(clock.now(), 7_000_000);
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
