import { setTimeout as sleep } from 'node:timers/promises';
import { collectEventLoopLag } from '@sluice/shared/metrics/event-loop-lag';
import test from 'ava';
import { Registry } from 'prom-client';

test('the lag of the event loop is what was blocked, and not the time between two looks', async (t) => {
  const registry = new Registry();
  collectEventLoopLag(registry);
  const read = async () => {
    const text = await registry.metrics();
    const value = (part: string) =>
      Number(new RegExp(`^nodejs_eventloop_lag_${part}_seconds (\\S+)$`, 'm').exec(text)?.[1]);
    return { min: value('min'), mean: value('mean'), max: value('max') };
  };
  // The time between two looks, 0.1 s, is in none of them. The machine may hold this process up, so it asks again.
  const isIdle = async () => {
    const { min, mean } = await read();
    return mean > 0 && min <= 0.05;
  };
  t.true(await holdsAtLast(isIdle));
  // A process that works is looked at ten times a second.
  for (let i = 0; i < 20; i += 1) {
    block(50);
    await sleep(50);
  }
  block(1_000);
  await sleep(250);
  t.true((await read()).max > 0.7);
  // A scrape begins anew.
  t.true(await holdsAtLast(async () => (await read()).max <= 0.7));
});

function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

async function holdsAtLast(look: () => Promise<boolean>): Promise<boolean> {
  for (let looks = 0; looks < 50; looks += 1) {
    await sleep(250);
    if (await look()) return true;
  }
  return false;
}
