import { Hold } from '../../helpers/hold.js';
import { until } from '../../helpers/until.js';
import { createTcpProxy, type TcpProxy } from '../tcp-proxy.js';
import { type Scenario, SOLO, type Trial } from '../trial.js';

const RECOVERY_LIMIT_MS = 15_000;
const REQUESTS = 5;

async function attemptsOf(trial: Trial, requestId: string | undefined): Promise<string[]> {
  const entry = (await trial.gateway.log()).find(({ id }) => id === requestId);
  return entry?.attempts.map(({ outcome }) => outcome) ?? [];
}

/** Kills the only worker while it holds the requests, and measures how long the next one takes to answer them. */
async function killAndRecover(trial: Trial, resume: () => void): Promise<void> {
  const [worker] = trial.gateway.workers;
  await trial.gateway.addWorker();
  await worker?.end('SIGKILL');
  const killed = performance.now();
  resume();
  await until('answers', () => trial.exchanges.every(({ status }) => status !== 0));
  trial.checkRecovery(performance.now() - killed, RECOVERY_LIMIT_MS);
}

export const beforeCall: Scenario = {
  name: 'worker-killed-before-call',
  fault: 'worker killed after it took the job, before upstream saw the call',
  async run(trial) {
    let upstream: TcpProxy | undefined;
    const hold = new Hold();
    const gateway = await trial.start({ routes: SOLO, simulator: { latencyMs: hold.latency } });
    hold.release();
    upstream = await createTcpProxy({ host: '127.0.0.1', port: gateway.simulator.port });
    trial.onClose(() => upstream?.close());
    // This worker's way to upstream leads through the proxy, and the proxy lets nothing through.
    const env = { OPENAI_BASE_URL: `http://127.0.0.1:${upstream.port}/v1` };
    const [first] = gateway.workers;
    await gateway.addWorker(env);
    await first?.end();
    gateway.workers.shift();
    upstream.set({ kind: 'hold' });
    const sent = trial.burst(REQUESTS);
    await until('calls on their way', () => (upstream?.connections ?? 0) >= REQUESTS);
    await killAndRecover(trial, () => {});
    await sent;
    trial.check('upstream saw one call each', gateway.simulator.calls.length === REQUESTS);
  },
};

export const duringCall: Scenario = {
  name: 'worker-killed-during-call',
  fault: 'worker killed while upstream works on the call: run again, the lost attempt is logged as unknown',
  short: true,
  async run(trial) {
    const hold = new Hold();
    await trial.start({ routes: SOLO, simulator: { latencyMs: hold.latency } });
    trial.extraCallsAllowed = REQUESTS;
    const sent = trial.burst(REQUESTS);
    await until('calls', () => hold.held.length === REQUESTS);
    await killAndRecover(trial, () => hold.release());
    for (const { requestId } of await sent) {
      const attempts = await attemptsOf(trial, requestId);
      trial.check(`the lost attempt is in the log: ${attempts}`, attempts.join() === 'unknown,ok');
    }
  },
};

export const afterAnswer: Scenario = {
  name: 'worker-killed-after-answer',
  fault: 'worker killed after upstream’s answer, before it could settle',
  async run(trial) {
    const hold = new Hold();
    const gateway = await trial.start({ routes: SOLO, simulator: { latencyMs: hold.latency } });
    trial.extraCallsAllowed = REQUESTS;
    const sent = trial.burst(REQUESTS);
    await until('calls', () => hold.held.length === REQUESTS);
    await gateway.addWorker();
    // No write gets through: the worker has the answers and waits for its settle.
    await gateway.redis.client('PAUSE', 60_000, 'WRITE');
    const answered = hold.held.map(({ call }) => call);
    hold.release();
    await until('answers from upstream', () => answered.every(({ endedAt }) => endedAt !== null));
    await gateway.workers[0]?.end('SIGKILL');
    const killed = performance.now();
    await gateway.redis.client('UNPAUSE');
    await sent;
    trial.checkRecovery(performance.now() - killed, RECOVERY_LIMIT_MS);
  },
};

export const onCrashFail: Scenario = {
  name: 'worker-killed-on-crash-fail',
  fault: 'worker killed in mid-call on a route with on_crash: fail',
  async run(trial) {
    const hold = new Hold();
    const routes = { solo: { on_crash: 'fail', chain: SOLO.solo } };
    await trial.start({ routes, simulator: { latencyMs: hold.latency } });
    const sent = trial.burst(REQUESTS, { expect: [502] });
    await until('calls', () => hold.held.length === REQUESTS);
    await killAndRecover(trial, () => hold.release());
    for (const { code, headers, requestId } of await sent) {
      trial.check(`provider_outcome_unknown, not ${code}`, code === 'provider_outcome_unknown');
      trial.check('x-should-retry: false', headers?.get('x-should-retry') === 'false');
      const attempts = await attemptsOf(trial, requestId);
      trial.check(`logged as unknown: ${attempts}`, attempts.join() === 'unknown');
    }
  },
};

export const poison: Scenario = {
  name: 'poison-job',
  fault: 'a request that takes its worker with it, twice: quarantined, the others are served',
  async run(trial) {
    const hold = new Hold();
    const gateway = await trial.start({ routes: SOLO, simulator: { latencyMs: hold.latency } });
    trial.extraCallsAllowed = 1;
    const poisoned = trial.send(trial.text('poison'), { expect: [502] });
    const started = performance.now();
    for (const crash of [1, 2]) {
      await until(`call ${crash}`, () => gateway.simulator.calls.length === crash);
      const next = await gateway.addWorker();
      await gateway.workers.at(-2)?.end('SIGKILL');
      trial.check('the next worker is there', next.child.exitCode === null);
    }
    hold.release();
    const others = await trial.burst(20);
    trial.check(
      'the others are served meanwhile',
      others.every(({ status }) => status === 200),
    );
    const { code } = await poisoned;
    trial.recoveryMs = performance.now() - started;
    trial.check(`provider_outcome_unknown, not ${code}`, code === 'provider_outcome_unknown');
    const attempts = await attemptsOf(trial, (await poisoned).requestId);
    trial.check(`two unknown attempts: ${attempts}`, attempts.join() === 'unknown,unknown');
  },
};
