import { Hold } from '../../helpers/hold.js';
import { until } from '../../helpers/until.js';
import { proxyFor, type TcpProxy } from '../tcp-proxy.js';
import { type Scenario, SOLO, sleep, type Trial } from '../trial.js';

const RUNNING = 4;

interface Scene {
  hold: Hold;
  proxy: TcpProxy;
}

/** Every process reaches Redis through one proxy. */
async function stage(trial: Trial, hold = new Hold()): Promise<Scene> {
  let proxy: TcpProxy | undefined;
  await trial.start({
    routes: SOLO,
    workers: 2,
    providers: { openai: { max_wait_ms: 60_000 } },
    simulator: { latencyMs: hold.latency },
    redisVia: async (url) => {
      const via = await proxyFor(url);
      proxy = via.proxy;
      return via.url;
    },
  });
  if (!proxy) throw new Error('no proxy');
  trial.onClose(() => proxy?.set({ kind: 'clear' }));
  return { hold, proxy };
}

async function errorsWithin(trial: Trial, limitMs: number): Promise<void> {
  const answers = await trial.burst(5, { expect: [503] });
  trial.checkTime('refused', Math.max(...answers.map(({ ms }) => ms)), limitMs);
  trial.check(
    'with retry-after',
    answers.every(({ headers }) => headers?.has('retry-after')),
  );
}

async function servesAgain(trial: Trial): Promise<void> {
  const started = performance.now();
  await until('a served request', async () => {
    return (await trial.send(undefined, { expect: [200, 503] })).status === 200;
  });
  trial.checkRecovery(performance.now() - started, 5_000);
}

/** Texts that upstream was asked although their caller had been refused. */
function checkNoGhosts(trial: Trial): void {
  const refused = trial.exchanges.filter(({ status }) => status === 503);
  const hashes = new Set(trial.gateway.simulator.calls.map(({ textHash }) => textHash));
  const ghosts = refused.filter(({ text }) => hashes.has(trial.hashOf(text))).length;
  trial.check(`no call for a refused request: ${ghosts} of ${refused.length}`, ghosts === 0);
}

export const slow: Scenario = {
  name: 'redis-slow-50ms',
  fault: 'every answer of Redis takes 50 ms longer',
  async run(trial) {
    const hold = new Hold();
    hold.release();
    const { proxy } = await stage(trial, hold);
    proxy.set({ kind: 'delay', ms: 25 });
    const load = trial.load(8);
    await sleep(10_000);
    await load.stop();
    proxy.set({ kind: 'clear' });
    await servesAgain(trial);
  },
};

export const verySlow: Scenario = {
  name: 'redis-slow-4s',
  fault: 'every answer of Redis takes 4 s for a while: quick errors, and no call is taken for lost',
  async run(trial) {
    const { hold, proxy } = await stage(trial);
    const accepted = trial.burst(RUNNING);
    await until('calls', () => hold.held.length === RUNNING);
    proxy.set({ kind: 'delay', ms: 2_000 });
    await sleep(2_000);
    await errorsWithin(trial, 2_000);
    await sleep(8_000);
    proxy.set({ kind: 'clear' });
    hold.release();
    await servesAgain(trial);
    await accepted;
    checkNoGhosts(trial);
  },
};

export const paused: Scenario = {
  name: 'redis-paused',
  fault: 'Redis answers nothing for 4 s (CLIENT PAUSE)',
  async run(trial) {
    const { hold } = await stage(trial);
    const { gateway } = trial;
    const accepted = trial.burst(RUNNING);
    await until('calls', () => hold.held.length === RUNNING);
    await gateway.redis.client('PAUSE', 4_000, 'ALL');
    await errorsWithin(trial, 2_000);
    hold.release();
    await servesAgain(trial);
    await accepted;
    await sleep(3_000);
    checkNoGhosts(trial);
  },
};

export const throttled: Scenario = {
  name: 'redis-throttled',
  fault: 'every connection to Redis carries 20 KB a second',
  async run(trial) {
    const hold = new Hold();
    hold.release();
    const { proxy } = await stage(trial, hold);
    proxy.set({ kind: 'throttle', bytesPerSecond: 20_000 });
    const load = trial.load(4, () => ({ expect: [200, 503] }));
    await sleep(10_000);
    proxy.set({ kind: 'clear' });
    await load.stop();
    await servesAgain(trial);
  },
};

const breakConnections = (name: string, fault: string, breakThem: (proxy: TcpProxy) => void): Scenario => ({
  name,
  fault,
  async run(trial) {
    const { hold, proxy } = await stage(trial);
    const accepted = trial.burst(RUNNING);
    await until('calls', () => hold.held.length === RUNNING);
    breakThem(proxy);
    hold.release();
    const started = performance.now();
    await accepted;
    trial.checkTime('accepted requests answered', performance.now() - started, 20_000);
    const load = trial.load(4, () => ({ expect: [200, 503] }));
    for (let i = 0; i < 3; i++) {
      await sleep(1_000);
      breakThem(proxy);
    }
    await sleep(1_000);
    await load.stop();
    await servesAgain(trial);
    // A worker that is cut off for longer than its lock is taken for dead.
    trial.extraCallsAllowed = RUNNING + 4 * 3;
  },
});

export const reset = breakConnections(
  'redis-connections-reset',
  'all connections to Redis are reset, again and again',
  (proxy) => proxy.reset(),
);
export const halfClosed = breakConnections(
  'redis-connections-half-closed',
  'Redis’ side of all connections is closed, again and again',
  (proxy) => proxy.halfClose(),
);
export const stranded = breakConnections(
  'redis-connections-stranded',
  'all connections to Redis go silent without being closed, again and again',
  (proxy) => proxy.strand(),
);
