/** The short part of `npm run chaos`: each of these faults costs nobody an answer, and is billed and logged once. */

import { runScenario } from '../chaos/run-scenario.js';
import { SCENARIOS } from '../chaos/scenarios.js';
import test from '../helpers/needs-redis.js';

/** Most of a scenario is waiting for a lock to run out; more at once would only fight for the processor. */
const AT_ONCE = 3;
/** The limits of time are for `npm run chaos`; here other tests run beside it, and only "never" is a failure. */
const PATIENCE = Number.POSITIVE_INFINITY;

let free = AT_ONCE;
const queue: (() => void)[] = [];

async function takeTurn(): Promise<void> {
  if (free > 0) free--;
  else await new Promise<void>((resolve) => queue.push(resolve));
}

function giveTurn(): void {
  const next = queue.shift();
  if (next) next();
  else free++;
}

for (const scenario of SCENARIOS.filter(({ short }) => short)) {
  test(scenario.fault, async (t) => {
    await takeTurn();
    try {
      const { failures, account } = await runScenario(scenario, PATIENCE);
      t.deepEqual(failures, []);
      t.true((account?.requests ?? 0) > 0);
    } finally {
      giveTurn();
    }
  });
}
