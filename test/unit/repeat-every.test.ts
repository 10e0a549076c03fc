import { blockMs, whileIdle } from '@sluice/shared/process/repeat-every';
import { BLOCK_MS } from '@sluice/shared/redis/redis';
import test from 'ava';
import { until } from '../helpers/until.js';

test('a process that works repeats what an idle one does seldom', async (t) => {
  const period = whileIdle(5_000, 1_000);
  await until('idleness', () => period() === 5_000);
  const blockedUntil = performance.now() + 1_000;
  while (performance.now() < blockedUntil);
  t.is(period(), 1_000);
  await until('idleness', () => period() === 5_000);
});

test('a blocking read ends in a tick of the chores, and not at once', async (t) => {
  for (let i = 0; i < 20; i++) {
    const before = performance.now();
    const ms = blockMs();
    const after = performance.now();
    const tick = Math.floor((after + ms) / BLOCK_MS) * BLOCK_MS;
    t.true(before + ms <= tick + 1 + (after - before), `${before} + ${ms}`);
    t.true(ms >= BLOCK_MS / 4 && ms <= BLOCK_MS * 1.25, String(ms));
    await new Promise((resolve) => setTimeout(resolve, 37));
  }
});
