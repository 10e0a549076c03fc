import type { ChatJob, Plan } from '@sluice/shared/queue/job';
import type { Lately } from '@sluice/shared/queue/lately';
import { Planner, type PlannerParts } from '@sluice/worker/jobs/planner';
import type { Progress } from '@sluice/worker/jobs/progress';
import { failureOf } from '@sluice/worker/providers/failure';
import test from 'ava';

const HOUR_MS = 3_600_000;
const entry = { provider: 'openai', model: 'gpt-4o-mini' };

/** The waits of a request whose every call fails, until it is given up. */
function waitsOf(
  outcome: 'auth' | 'bad_request',
  { chain = [entry], urgentAt = 48 * HOUR_MS } = {},
): number[] {
  let now = 0;
  const lately = { refusedShare: () => 0 } as unknown as Lately;
  const planner = new Planner({ lately, clock: { now: () => now } } as unknown as PlannerParts);
  const plan: Plan = { urgentAt, highest: 0 };
  const job = { chain, entry: 0, attempts: [], deadline: 48 * HOUR_MS, plan } as unknown as ChatJob;
  const waits: number[] = [];
  for (;;) {
    // Each of three keys of a pool was refused.
    for (let i = 0; i < 3; i++) job.attempts.push({ ...entry, outcome });
    const again = planner.whenAgain({ job, token: '' } as Progress, plan, entry, failureOf(outcome, 401));
    if (again === undefined) return waits;
    waits.push(again - now);
    now = again;
  }
}

test('a refused key is waited for for hours, with few tries, while there is time and no other entry', (t) => {
  const waits = waitsOf('auth');
  t.is(waits.length, 14);
  t.true(waits.every((ms) => ms <= 1.25 * HOUR_MS));
  const sum = waits.reduce((all, ms) => all + ms, 0);
  t.true(sum > 3 * HOUR_MS && sum < 6 * HOUR_MS, `${sum}`);
  t.true(waitsOf('auth', { urgentAt: HOUR_MS / 60 }).length < 7);
  t.deepEqual(waitsOf('auth', { chain: [entry, entry] }), []);
  t.deepEqual(waitsOf('bad_request'), []);
});
