import { Hold } from '../../helpers/hold.js';
import { until } from '../../helpers/until.js';
import { PAIR, type Scenario } from '../trial.js';

const SLOTS = 2;
const BACKLOG = 5;
const REQUESTS = 40;

export const fallbackBacklog: Scenario = {
  name: 'fallback-backlog',
  fault:
    'all fall back to a provider with a full queue: no more than max_backlog wait, the rest is refused at once',
  short: true,
  async run(trial) {
    const hold = new Hold();
    const gateway = await trial.start({
      routes: PAIR,
      workers: 2,
      providers: {
        openai: { concurrency: REQUESTS, circuit_failures: 0 },
        anthropic: { concurrency: SLOTS, max_backlog: BACKLOG, max_wait_ms: 60_000 },
      },
      simulator: { latencyMs: (call) => (call.provider === 'openai' ? 5 : hold.latency(call)) },
    });
    gateway.simulator.script({ match: { provider: 'openai' }, action: { status: 500 } });
    const sent = trial.burst(REQUESTS, { model: 'pair', expect: [200, 429] });
    const refused = () => trial.exchanges.filter(({ status }) => status === 429);
    await until('refusals', () => refused().length === REQUESTS - SLOTS - BACKLOG);
    const waiting = await gateway.backlog('anthropic');
    trial.check(`${waiting} wait`, waiting === BACKLOG);
    trial.check(
      'each with retry-after',
      refused().every(({ headers }) => Number(headers?.get('retry-after')) > 0),
    );
    hold.release();
    const served = (await sent).filter(({ status }) => status === 200).length;
    trial.check(`${served} are served`, served === SLOTS + BACKLOG);
    trial.extraCallsAllowed = SLOTS + BACKLOG;
  },
};
