import { whileIdle } from '@sluice/shared/process/repeat-every';
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
