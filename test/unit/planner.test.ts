import type { ChatJob, Plan } from '@sluice/shared/queue/job';
import { Lately } from '@sluice/shared/queue/lately';
import type { LogEntry } from '@sluice/shared/queue/request-log';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import { Planner, type PlannerParts } from '@sluice/worker/jobs/planner';
import type { Progress } from '@sluice/worker/jobs/progress';
import { failureOf } from '@sluice/worker/providers/failure';
import test from 'ava';
import type { Redis } from 'ioredis';

const HOUR_MS = 3_600_000;
const entry = { provider: 'openai', model: 'gpt-4o-mini' };

const MINUTE_MS = HOUR_MS / 60;
const A_DAY_OR_TWO = { urgentAt: 48 * HOUR_MS, deadline: 48 * HOUR_MS };

function plannerAt(now: () => number, parts: Partial<PlannerParts> = {}): Planner {
  const lately = { refusedShare: () => 0, callMs: () => 2_000, answeredAt: () => 0 } as unknown as Lately;
  const availability = { blocked: () => undefined };
  return new Planner({ lately, availability, clock: { now }, ...parts } as unknown as PlannerParts);
}

/** The waits of a request whose every call fails, until it is given up. */
function waitsOf(
  outcome: 'auth' | 'bad_request' | 'server_error' | 'rate_limited',
  { chain = [entry], urgentAt, deadline } = { ...A_DAY_OR_TWO, chain: [entry] },
  parts: Partial<PlannerParts> = {},
): number[] {
  let now = 0;
  const planner = plannerAt(() => now, parts);
  const plan: Plan = { urgentAt, highest: 0 };
  const job = { chain, entry: 0, attempts: [], deadline, plan } as unknown as ChatJob;
  const waits: number[] = [];
  // Each of three keys of a pool is refused.
  const calls = outcome === 'auth' ? 3 : 1;
  for (;;) {
    for (let i = 0; i < calls; i++) job.attempts.push({ ...entry, outcome });
    const again = planner.whenAgain({ job, token: '' } as Progress, plan, entry, failureOf(outcome, 401));
    if (again === undefined) return waits;
    waits.push(again - now);
    now = again;
  }
}

const sumOf = (waits: readonly number[]) => waits.reduce((all, ms) => all + ms, 0);

test('a refused key is waited for for hours, with few tries, while there is time and no other entry', (t) => {
  const waits = waitsOf('auth');
  t.is(waits.length, 14);
  t.true(waits.every((ms) => ms <= 1.25 * HOUR_MS));
  t.true(sumOf(waits) > 3 * HOUR_MS && sumOf(waits) < 6 * HOUR_MS, `${sumOf(waits)}`);
  const [urgentAt, deadline] = [MINUTE_MS, 2 * MINUTE_MS];
  t.true(sumOf(waitsOf('auth', { chain: [entry], urgentAt, deadline })) < deadline);
  t.deepEqual(waitsOf('auth', { ...A_DAY_OR_TWO, chain: [entry, entry] }), []);
  t.deepEqual(waitsOf('bad_request'), []);
});

test('a failed call is made again while another one fits before the deadline', (t) => {
  const late = { chain: [entry], urgentAt: 0, deadline: MINUTE_MS };
  const waits = waitsOf('rate_limited', late);
  t.true(waits.length >= 3, `${waits}`);
  // The last call begins when half of the calls lately would be over in time.
  t.true(Math.abs(sumOf(waits) - (MINUTE_MS - 2_000)) < 1, `${sumOf(waits)}`);
  const faults = waitsOf('server_error', late).length;
  t.true(faults >= 3 && faults < 10, `${faults}`);
  const passed = { urgentAt: 0, deadline: MINUTE_MS, chain: [entry, { ...entry, model: 'other' }] };
  t.deepEqual(waitsOf('server_error', passed), [], 'another entry is the better try');
  const blocked = { outcome: 'circuit_open' as const, retryAfterMs: 1_000 };
  const busy = { availability: { blocked: () => blocked } };
  t.true(waitsOf('server_error', passed, busy).length >= 3, 'the other one may not be called');
});

test('a 403 is not waited for once the provider has answered another call that began after it', (t) => {
  const lately = new Lately({} as Redis, {} as ShardNames);
  const answered = (acceptedAt: number) =>
    lately.record({
      ...{ acceptedAt, settledAt: 9_000, queueMs: 0, served: { ...entry, usage: { output: 1 } } },
      attempts: [{ ...entry, outcome: 'ok', ms: 1, startMs: 100 }],
    } as LogEntry);
  const planner = plannerAt(() => 10_000, { lately });
  const again = (status: number, now: 'auth' | 'rate_limited' = 'auth') => {
    const plan: Plan = { urgentAt: HOUR_MS, highest: 0 };
    const refused = { ...entry, outcome: 'auth' as const, status, startMs: 100 };
    const job = {
      ...{ chain: [entry], entry: 0, acceptedAt: 1_000, deadline: HOUR_MS, plan },
      attempts: [refused, { ...refused, startMs: 5_000 }],
    } as unknown as ChatJob;
    return planner.whenAgain(
      { job, token: '' } as Progress,
      plan,
      entry,
      failureOf(now, now === 'auth' ? status : 429),
    );
  };
  answered(1_000);
  t.not(again(403), undefined, 'nobody knows about which it is');
  answered(1_001);
  t.is(again(403), undefined);
  t.not(again(401), undefined, 'the key of all requests is refused');
  t.not(again(403, 'rate_limited'), undefined, 'this call failed otherwise');
});

test('a provider that may not be called is waited for as long as a call fits before the deadline', (t) => {
  const open = (now: number, retryAfterMs: number, urgentAt: number, chain = [entry]) =>
    plannerAt(() => now).whenOpen(
      { chain, entry: 0, attempts: [], deadline: MINUTE_MS } as unknown as ChatJob,
      { urgentAt, highest: 0 },
      entry,
      { outcome: 'circuit_open', retryAfterMs },
    );
  const probe = open(0, 5_000, 30_000) ?? 0;
  t.true(probe >= 10_000 && probe <= 15_000, 'the first call is left to those who have no time');
  t.is(open(0, 40_000, 30_000), 30_000, 'its safe start is looked at');
  const late = open(30_000, 5_000, 30_000) ?? 0;
  t.true(late >= 40_000 && late <= 45_000);
  t.is(open(30_000, 50_000, 30_000), 58_000, 'the circuit may close earlier');
  t.is(open(58_000, 1_000, 30_000), undefined, 'no call fits any more');
  t.is(open(30_000, 5_000, 30_000, [entry, entry]), undefined, 'another entry is called');
});
