import type { Exchange } from '../account.js';
import { type Scenario, type SendOptions, SOLO, sleep, type Trial } from '../trial.js';

/** The provider's slots and the time of a call are the capacity, about 16 a second: not this machine's processor. */
const SLOTS = 16;
const CALL_MS = 1_000;
const MEASURE_MS = 20_000;
/** Until the load is as high as it is going to be. */
const RISE_MS = 3_000;
const RECOVERY_MS = 10_000;

export const overload: Scenario = {
  name: 'overload',
  fault: 'three times the load that can be served: 90 % of the goodput, the rest refused at once',
  run: (trial) => overloadBy(trial, { max_backlog: SLOTS, max_wait_ms: 10_000 }, 1_000),
};

export const overloadWaiting: Scenario = {
  name: 'overload-waiting',
  fault: 'the same with a long queue: the rest is refused when its wait has run out',
  run: (trial) => overloadBy(trial, { max_backlog: 10_000, max_wait_ms: 3_000 }, 4_000),
};

async function overloadBy(
  trial: Trial,
  limits: { max_backlog: number; max_wait_ms: number },
  refusedWithinMs: number,
): Promise<void> {
  const gateway = await trial.start({
    routes: SOLO,
    apis: 2,
    workers: 2,
    providers: { openai: { concurrency: SLOTS, ...limits } },
    // Now more, now less: if all slots became free at once, the goodput would depend on where the measuring begins.
    simulator: { latencyMs: () => CALL_MS * (0.5 + Math.random()) },
  });
  let turn = 0;
  const anyApi = () => ({ url: gateway.urls[turn++ % gateway.urls.length] ?? '' });
  await trial.burst(SLOTS);

  // More callers than slots, so that none is ever free.
  const load = trial.load(SLOTS + 4, anyApi);
  const peak = await goodput(trial);
  await load.stop();

  const first = trial.exchanges.length;
  const flood = trial.offer(3 * peak, () => ({ ...anyApi(), expect: [200, 429, 503] }));
  const crowded = await goodput(trial);
  const last = trial.exchanges.length;
  const drained = flood.stop();
  const recoveryMs = await timeToNormal(trial, peak / 2, anyApi);
  await drained;

  const offered = trial.exchanges.slice(first, last);
  const refused = offered.filter(({ status }) => status !== 200);
  const times = refused.map(({ ms }) => ms).sort((a, b) => a - b);
  const [median, p99] = [0.5, 0.99].map((q) => times[Math.floor(times.length * q)] ?? 0);
  trial.note(
    `goodput ${peak.toFixed(1)}/s at capacity, ${crowded.toFixed(1)}/s at three times that; ` +
      `${refused.length} of ${offered.length} refused, after ${median?.toFixed(0)} ms (p99 ${p99?.toFixed(0)} ms)`,
  );
  trial.check(
    `at least 90 % of the goodput: ${((100 * crowded) / peak).toFixed(1)} %`,
    crowded >= 0.9 * peak,
  );
  // Half of it, at least: else the load was no overload.
  trial.check(`the rest is refused: ${refused.length}`, refused.length >= offered.length / 2);
  trial.checkTime('refused', p99 ?? 0, refusedWithinMs);
  const bare = refused.find(
    ({ code, headers }) => code === null || !(Number(headers?.get('retry-after')) > 0),
  );
  trial.check(`each with a code and retry-after, unlike ${bare?.status} ${bare?.code}`, bare === undefined);
  trial.checkRecovery(recoveryMs, RECOVERY_MS);
}

/** Answers with 200 in a second. */
async function goodput(trial: Trial): Promise<number> {
  await sleep(RISE_MS);
  const from = Date.now();
  await sleep(MEASURE_MS);
  const until = Date.now();
  const served = trial.exchanges.filter((exchange) => {
    const end = exchange.startedAt + exchange.ms;
    return exchange.status === 200 && end >= from && end < until;
  });
  return (1000 * served.length) / (until - from);
}

/** At a load that it can well serve: after how long the first request began from which on none was refused or slow. */
async function timeToNormal(trial: Trial, perSecond: number, pick: () => SendOptions): Promise<number> {
  const begun = Date.now();
  const first = trial.exchanges.length;
  const load = trial.offer(perSecond, () => ({ ...pick(), expect: [200, 429, 503] }));
  await sleep(RECOVERY_MS + 2_000);
  await load.stop();
  const isNormal = ({ status, ms }: Exchange) => status === 200 && ms < 2.5 * CALL_MS;
  const after = trial.exchanges.slice(first);
  const normal = after[after.findLastIndex((exchange) => !isNormal(exchange)) + 1];
  return (normal?.startedAt ?? Number.POSITIVE_INFINITY) - begun;
}
