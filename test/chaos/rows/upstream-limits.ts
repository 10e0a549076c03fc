import { until } from '../../helpers/until.js';
import { PAIR, type Scenario, SOLO, sleep } from '../trial.js';

const RETRY_AFTER_MS = 3_000;
/** Calls that were on their way when the 429 came, and the time the news takes to the other workers. */
const NEWS_MS = 100;

export const rateLimited: Scenario = {
  name: 'upstream-429',
  fault: 'upstream answers 429 with retry-after: fallback, and no worker calls it before that time',
  async run(trial) {
    const { simulator } = await trial.start({
      routes: PAIR,
      apis: 2,
      workers: 2,
      simulator: { latencyMs: 5 },
    });
    const { urls } = trial.gateway;
    let turn = 0;
    const load = trial.load(8, () => ({ model: 'pair', url: urls[turn++ % urls.length] ?? '' }));
    await until('load', () => trial.exchanges.length > 50);
    simulator.script({
      match: { provider: 'openai' },
      times: 1,
      action: { status: 429, headers: { 'retry-after': String(RETRY_AFTER_MS / 1000) } },
    });
    const limited = await until('the 429', () =>
      simulator.calls.find(({ status, endedAt }) => status === 429 && endedAt !== null),
    );
    const until429 = limited.endedAt ?? 0;
    await sleep(RETRY_AFTER_MS + 2_000);
    await load.stop();
    const openai = simulator.calls.filter(({ provider }) => provider === 'openai');
    const early = openai.filter(
      ({ startedAt }) => startedAt > until429 + NEWS_MS && startedAt < until429 + RETRY_AFTER_MS,
    );
    trial.check(`no early call: ${early.length}`, early.length === 0);
    const later = openai.find(({ startedAt }) => startedAt >= until429 + RETRY_AFTER_MS);
    trial.check('it is called again afterwards', later !== undefined);
    trial.recoveryMs = (later?.startedAt ?? 0) - until429;
    trial.extraCallsAllowed = 1;
  },
};

const OUTAGE_MS = 20_000;

export const outage: Scenario = {
  name: 'upstream-outage',
  fault: 'upstream answers 500 for a while: fallback; the circuit opens, single probes, closes again',
  async run(trial) {
    const { simulator } = await trial.start({
      routes: { ...SOLO, ...PAIR },
      workers: 2,
      providers: { openai: { circuit_failures: 8, circuit_open_ms: 2_000 } },
      simulator: { latencyMs: 5 },
    });
    const load = trial.load(8, () => ({ model: 'pair' }));
    await until('load', () => trial.exchanges.length > 50);
    const count = () =>
      simulator.calls.filter(({ provider, status }) => provider === 'openai' && status === 500);
    simulator.script({ match: { provider: 'openai' }, action: { status: 500 } });
    const started = trial.exchanges.length;
    await until('an open circuit', async () => {
      return (await trial.gateway.redis.hget(trial.gateway.names.circuit('openai'), 'state')) === 'open';
    });
    await sleep(200);
    const whileClosed = count().length;
    await sleep(OUTAGE_MS);
    const whileOpen = count().slice(whileClosed);
    simulator.clearScript();
    const over = Date.now();
    const back = await until('openai serves again', () =>
      simulator.calls.find(
        ({ provider, status, startedAt }) => provider === 'openai' && status === 200 && startedAt > over,
      ),
    );
    await sleep(500);
    await load.stop();
    trial.recoveryMs = back.startedAt - over;
    const offered = trial.exchanges.length - started;
    trial.note(
      `${whileClosed} failed calls until it opened, ${whileOpen.length} probes for ${offered} requests`,
    );
    // Eight failures in a row, and what was under way beside them.
    trial.check(`few calls until it opened: ${whileClosed}`, whileClosed <= 8 + 2 * 8);
    trial.check(`a trickle of probes: ${whileOpen.length}`, whileOpen.length <= OUTAGE_MS / 2_000);
    const together = whileOpen.filter((call, i) => {
      const before = whileOpen[i - 1];
      return before !== undefined && (before.endedAt ?? Number.POSITIVE_INFINITY) > call.startedAt;
    });
    trial.check('one probe at a time', together.length === 0);
    trial.extraCallsAllowed = whileClosed + whileOpen.length;
  },
};
