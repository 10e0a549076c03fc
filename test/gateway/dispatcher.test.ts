/** The moments in which a job ends or moves on just as its wait runs out: the news is then still on its way to the api. */
import { ApiMetrics } from '@sluice/api/cell/metrics';
import type { Admission } from '@sluice/api/chat/admission';
import { Congestion } from '@sluice/api/chat/congestion';
import { Dispatcher, type Reply } from '@sluice/api/chat/dispatcher';
import { RefusalRate } from '@sluice/api/chat/refusal-rate';
import { SafetyNet } from '@sluice/api/chat/safety-net';
import { parseConfig } from '@sluice/shared/config/config';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { GatewayError } from '@sluice/shared/errors';
import { Metrics } from '@sluice/shared/metrics/create';
import { createLogger } from '@sluice/shared/process/logger';
import { Availability } from '@sluice/shared/providers/availability';
import { CircuitBreakers } from '@sluice/shared/providers/circuit-breakers';
import { CoolDowns } from '@sluice/shared/providers/cool-downs';
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { readInboxMessage } from '@sluice/shared/queue/inbox';
import type { ChatJob, OnCrash } from '@sluice/shared/queue/job';
import { reservationOf } from '@sluice/shared/queue/workspace-limits';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import test from '../helpers/needs-redis.js';
import {
  type ActiveJob,
  type Cell,
  createSettleBench,
  jobFor,
  nextEntry,
  PROVIDERS,
  type SettleBench,
  served,
} from '../helpers/settle-bench.js';
import { until } from '../helpers/until.js';

let bench: SettleBench;
test.before(async () => {
  bench = await createSettleBench();
});
test.after.always(() => bench?.close());

/** Counts how often the api has looked after a job. */
class Watched extends ChatQueue {
  looks = 0;
  /** The api hears nothing of what becomes of its moves, as one that has died. */
  isDeaf = false;
  /** How many jobs may wait where a job moves to, if not as many as its provider's settings say. */
  most: number | undefined;

  override async settle(...args: Parameters<ChatQueue['settle']>) {
    const result = await super.settle(...args);
    if (args[1].as !== 'worker') this.looks++;
    return result;
  }

  override async passOn(...[job, next, most, died]: Parameters<ChatQueue['passOn']>) {
    const result = await super.passOn(job, next, this.most ?? most, died);
    this.looks++;
    if (this.isDeaf) await new Promise(() => {});
    return result;
  }
}

interface Scene {
  cell: Cell;
  queue: Watched;
  dispatcher: Dispatcher;
  reply: Promise<Reply>;
  active: ActiveJob;
  /** The jobs that the safety net was told of. */
  ghosts: ChatJob[];
  /** Hands the dispatcher what is in its inbox. */
  deliver(): Promise<void>;
}

type Admit = (job: ChatJob, names: KeyNames) => ReturnType<Admission['admit']>;
const NO_LIMITS: Admit = async () => undefined;
const metrics = new ApiMetrics(new Metrics('api'), []);

/** Each step of a test is taken well within the wait, also when this process and Redis stop for seconds between two of them. */
const MAX_WAIT_MS = 15_000;

/** A request with a short wait, whose first job a worker has taken. */
async function stage(entries: number, onCrash: OnCrash = 'rerun', maxWaitMs = MAX_WAIT_MS): Promise<Scene> {
  for (;;) {
    const scene = await begin(entries, onCrash, true, maxWaitMs);
    const { cell, queue, dispatcher } = scene;
    const taken = async () => (await cell.take('openai', 'run')) ?? (queue.looks > 0 && 'too late');
    const active = await until('the job', taken);
    if (active !== 'too late') return { ...scene, active };
    // The machine stood still for as long as the wait.
    dispatcher.cancel('one');
    await scene.reply;
  }
}

async function begin(
  entries: number,
  onCrash: OnCrash,
  hasWorkers = true,
  maxWaitMs = MAX_WAIT_MS,
  { clock = { now: () => Date.now() }, deadlineMs = 120_000, admit = NO_LIMITS } = {},
): Promise<Omit<Scene, 'active'>> {
  const cell = await bench.cell(undefined, undefined, Watched);
  const { names } = cell;
  const queue = cell.queue as Watched;
  const ghosts: ChatJob[] = [];
  const limits = (name: string): ProviderConfig => {
    const settings = { concurrency: 1, max_wait_ms: maxWaitMs, max_backlog: 100, circuit_failures: 0 };
    const providers = { [name]: { kind: 'openai', base_url: 'http://127.0.0.1:1', ...settings } };
    const [provider] = parseConfig({ providers }, {}).providers.values();
    if (!provider) throw new Error('no provider was read');
    return provider;
  };
  const dispatcher = new Dispatcher({
    queue,
    availability: new Availability(
      new Set(PROVIDERS),
      new CoolDowns(bench.redis, names, clock),
      new CircuitBreakers(bench.redis, names, clock, new Map()),
    ),
    admission: { admit: (job) => admit(job, names), leave: () => {} },
    habits: { learn: () => {} },
    promises: { isEmpty: true, isKept: () => false, refused: () => {} },
    refusalRate: new RefusalRate(60),
    estimateCall: () => 7,
    stopRunning: async () => {},
    onGhost: (job) => ghosts.push(job),
    congestion: new Congestion(new Map(PROVIDERS.map((name) => [name, limits(name)]))),
    announced: { waitedForUntil: () => 0 },
    clock,
    hasRoom: () => true,
    hasWorkers: () => hasWorkers,
    metrics,
  });
  const now = clock.now();
  const job = jobFor('one');
  const reply = dispatcher.dispatch(
    {
      ...job,
      chain: [...job.chain, ...job.chain].slice(0, entries),
      onCrash,
      acceptedAt: now,
      queuedAt: now,
      waitUntil: now,
      deadline: now + deadlineMs,
    },
    JSON.parse(String(job.request)),
  );
  const deliver = async () => {
    for (const fields of await cell.inbox()) {
      const message = readInboxMessage(Object.entries(fields).flat());
      if (message) dispatcher.receive(message);
    }
  };
  return { cell, queue, dispatcher, reply, ghosts, deliver };
}

test('without any worker a request does not wait for its second entry, too', async (t) => {
  const { reply, cell } = await begin(2, 'rerun', false);
  const { head } = await reply;
  t.like(head.error, { code: 'service_unavailable', message: 'No worker is running.' });
  for (const provider of PROVIDERS) t.is((await cell.queue.look(provider)).waiting, 0, provider);
  const [entry] = await cell.log();
  t.deepEqual(
    entry?.attempts.map(({ outcome }) => outcome),
    ['concurrency'],
    'the second one was never entered',
  );
});

test('a request whose reservation has lapsed before its job was queued is admitted again', async (t) => {
  const { redis } = bench;
  const admitted: (number | undefined)[] = [];
  const admit: Admit = async (job, names) => {
    admitted.push(job.reserved);
    job.reserved = 7;
    // The first one has lapsed, and is gone, when the job is to be queued.
    if (admitted.length > 1)
      await redis.zadd(names.reservations(job.workspace), '1', reservationOf(job.requestId, 7));
    return undefined;
  };
  const { cell, reply, deliver } = await begin(2, 'rerun', true, MAX_WAIT_MS, { admit });
  const active = await until('the job', () => cell.take('openai', 'run'));
  t.deepEqual(admitted, [undefined, undefined]);
  t.like(active.data, { entry: 0, reserved: 7, attempts: [] });
  await cell.queue.settle(served(active.data), { as: 'worker', token: 'run' });
  await active.finish();
  await deliver();
  t.is((await reply).body, '{"answer":true}');
  t.is(await redis.zcard(cell.names.reservations('demo')), 0);
});

test('a caller is answered at the deadline, also when Redis’ clock does not reach it', async (t) => {
  const now = Date.now();
  const still = { clock: { now: () => now }, deadlineMs: 10_000 };
  const waiting = await begin(1, 'rerun', true, MAX_WAIT_MS, still);
  const running = await begin(1, 'rerun', true, MAX_WAIT_MS, still);
  await until('the job', () => running.cell.take('openai', 'run'));
  t.is((await waiting.reply).head.error?.code, 'provider_timeout');
  t.like(await t.throwsAsync(running.reply), { code: 'provider_timeout' });
});

test('a wait that lasts until the deadline ends as too late, also when Redis’ clock is a little ahead', async (t) => {
  const [now, from] = [Date.now(), performance.now()];
  const fast = { clock: { now: () => now + 2 * (performance.now() - from) }, deadlineMs: 4_000 };
  const { reply } = await begin(1, 'rerun', true, 60_000, fast);
  t.is((await reply).head.error?.code, 'provider_timeout');
});

for (const entries of [1, 2]) {
  test(`a request that is served as its wait runs out is answered with what was served: ${entries} entries`, async (t) => {
    const { cell, queue, reply, active, deliver } = await stage(entries);
    await cell.queue.settle(served(active.data), { as: 'worker', token: 'run' });
    await active.finish();
    await until('the api looks', () => queue.looks > 0);
    await deliver();
    t.is((await reply).body, '{"answer":true}');
    t.is((await cell.log()).length, 1);
    t.is(await cell.take('anthropic', 'run'), undefined, 'the next entry is not asked as well');
  });
}

test('a request that moves on as its wait runs out is left to its next entry', async (t) => {
  const { cell, queue, reply, active, deliver } = await stage(2);
  const next = { ...nextEntry(active.data), queuedAt: Date.now(), waitUntil: Date.now() + 60_000 };
  await cell.queue.move(active.data, next, 10, active.lock);
  await active.finish();
  await until('the api looks', () => queue.looks > 0);
  await deliver();
  const later = await until('the next job', () => cell.take('anthropic', 'run'));
  t.deepEqual(later.data.attempts, next.attempts);
  await cell.queue.settle(served(later.data), { as: 'worker', token: 'run' });
  await deliver();
  t.is((await reply).head.served?.provider, 'anthropic');
});

test('a request whose wait is over is at its next entry, also when its api dies at that moment', async (t) => {
  const { cell, queue, reply, deliver } = await begin(2, 'rerun');
  queue.isDeaf = true;
  await until('the api looks', () => queue.looks > 0);
  const later = await until('the next job', () => cell.take('anthropic', 'run'));
  t.deepEqual(
    later.data.attempts.map(({ outcome }) => outcome),
    ['concurrency'],
  );
  t.is(await cell.take('openai', 'run'), undefined, 'the request is in one job');
  // An api that lives, and has only lost its connection, hears of it by its inbox.
  await deliver();
  await cell.queue.settle(served(later.data), { as: 'worker', token: 'run' });
  await deliver();
  t.is((await reply).head.served?.provider, 'anthropic');
});

test('a request whose wait is over ends when its next entry is full', async (t) => {
  const { cell, queue, reply } = await begin(2, 'rerun');
  queue.most = 0;
  const { error } = (await reply).head;
  t.is(error?.code, 'rate_limited');
  t.is(queue.looks, 2, 'the queue of the next entry was asked');
  t.deepEqual(
    (await cell.log()).map(({ code, attempts }) => [code, attempts.map(({ outcome }) => outcome)]),
    [['rate_limited', ['concurrency', 'backlog']]],
  );
  t.is(await cell.take('openai', 'run'), undefined);
});

const LONG_MS = 600_000;

/** A worker moves the job to its next entry. The notice lies in the inbox. */
async function moveOn({ cell }: Scene, { data, lock, finish }: ActiveJob, waitMs = LONG_MS): Promise<void> {
  const next = { ...nextEntry(data), queuedAt: Date.now(), waitUntil: Date.now() + waitMs };
  await cell.queue.move(data, next, 10, lock);
  await finish();
}

test('a notice of a move that is read twice does not bring a request back to an entry that it has left', async (t) => {
  const scene = await stage(3, 'rerun', LONG_MS);
  const { cell, dispatcher, reply, active, deliver } = scene;
  await moveOn(scene, active, 0);
  await deliver();
  const later = await until('the job of the last entry', () => cell.take('openai', 'run'));
  t.is(later.id, 'one-2', 'its wait at the second entry was over at once');
  // The connection of the inbox was lost before what it had read was deleted.
  await deliver();
  const net = netFor(scene, () => performance.now());
  for (let i = 0; i < 2; i++) await net.sweep(dispatcher);
  t.is(await cell.take('anthropic', 'again'), undefined, 'the request is in one job');
  await cell.queue.settle(served(later.data), { as: 'worker', token: 'run' });
  await deliver();
  t.is((await reply).body, '{"answer":true}');
});

test('a request that waits for longer without having been called is not refused meanwhile', async (t) => {
  const { cell, reply, active, deliver } = await stage(1);
  const { entry, queueMs, attempts } = active.data;
  const next = { entry, queueMs, attempts, queuedAt: Date.now(), waitUntil: Date.now() + LONG_MS };
  const first = Date.now() + MAX_WAIT_MS + 1_000;
  await cell.queue.waitAgain(active.data, next, active.lock, '', {});
  await deliver();
  await until('its first wait is over', () => Date.now() > first);
  const later = await until('the job', () => cell.take('openai', 'again'));
  await cell.queue.settle(served(later.data), { as: 'worker', token: later.lock });
  await deliver();
  t.is((await reply).body, '{"answer":true}');
});

test('a request that moves on whenever the safety net looks is not taken for lost', async (t) => {
  const scene = await stage(3, 'rerun', LONG_MS);
  const { cell, dispatcher, reply, active, deliver } = scene;
  let caughtUpAt = 0;
  const net = netFor(scene, () => caughtUpAt);
  await moveOn(scene, active);
  await net.sweep(dispatcher);
  await deliver();
  caughtUpAt = performance.now();
  await moveOn(scene, await until('the second job', () => cell.take('anthropic', 'run')));
  await net.sweep(dispatcher);
  t.is(await cell.take('anthropic', 'again'), undefined, 'the request is in one job');
  await deliver();
  const later = await until('the third job', () => cell.take('openai', 'run'));
  await cell.queue.settle(served(later.data), { as: 'worker', token: 'run' });
  await deliver();
  t.is((await reply).body, '{"answer":true}');
});

const outcomes = ({ attempts }: { attempts: readonly { outcome: string }[] }) =>
  attempts.map(({ outcome }) => outcome);

test('a request whose worker died waits once more, and then moves on with the lost call', async (t) => {
  const { cell, queue, reply, active, deliver } = await stage(2);
  await active.stall();
  const later = await until('the next job', () => cell.take('anthropic', 'run'));
  t.deepEqual(outcomes(later.data), ['unknown', 'concurrency']);
  t.is(queue.looks, 2, 'the first look left it to another worker');
  await cell.queue.settle(served(later.data), { as: 'worker', token: 'run' });
  await deliver();
  t.is((await reply).head.served?.provider, 'anthropic');
});

test('a request whose worker died and that may not be called again stays where it is', async (t) => {
  const { cell, queue, dispatcher, reply, active } = await stage(2, 'fail');
  await cell.queue.begin(active.data, active.lock);
  await active.stall();
  await until('the api looks', () => queue.looks > 0);
  t.is((await until('the job', () => cell.take('openai', 'next'))).id, 'one-0');
  t.is(queue.looks, 1);
  dispatcher.giveUp('one');
  t.is((await reply).head.error?.code, 'provider_outcome_unknown');
});

test('a request whose worker died ends with the lost call in the log when its caller hangs up', async (t) => {
  const { cell, dispatcher, reply, active } = await stage(2);
  await active.stall();
  dispatcher.cancel('one');
  await reply;
  const [entry] = await cell.log();
  t.is(entry?.code, 'cancelled');
  t.deepEqual(entry && outcomes(entry), ['unknown']);
  t.is(await cell.take('openai', 'next'), undefined);
  t.is(dispatcher.pending.size, 0);
});

test('a request whose worker dies after its caller has hung up ends without another call', async (t) => {
  const { cell, dispatcher, reply, active } = await stage(2);
  dispatcher.cancel('one');
  await active.stall();
  await reply;
  const [entry] = await cell.log();
  t.deepEqual(entry && outcomes(entry), ['unknown']);
  t.is(await cell.take('openai', 'next'), undefined);
});

test('a request that was displaced from a full queue goes to its next entry', async (t) => {
  const { cell, dispatcher, reply, active, deliver } = await stage(2);
  await active.finish();
  dispatcher.receive({ kind: 'displaced', requestId: 'one', entry: 0 });
  const later = await until('the next job', () => cell.take('anthropic', 'run'));
  t.deepEqual(
    later.data.attempts.map(({ outcome }) => outcome),
    ['backlog'],
  );
  dispatcher.receive({ kind: 'displaced', requestId: 'one', entry: 0 });
  await cell.queue.settle(served(later.data), { as: 'worker', token: 'run' });
  await deliver();
  t.is((await reply).head.served?.provider, 'anthropic');
});

/** A job with an earlier turn has come: the job of the scene waits apart, and its api is told. */
async function displace({ cell, dispatcher }: Scene): Promise<void> {
  const key = (name: string) => cell.names.queueKey('openai', name);
  await bench.redis.lmove(key('active'), key('wait'), 'LEFT', 'LEFT');
  await bench.redis.hdel(key('one-0'), 'ats');
  await bench.redis.del(key('one-0:lock'));
  await bench.redis.lpop(key('wait'));
  await bench.redis.zadd(key('delayed'), (Date.now() + 600_000) * 0x1000, 'one-0');
  dispatcher.receive({ kind: 'displaced', requestId: 'one', entry: 0 });
}

test('a displaced request is in Redis until the next queue takes it', async (t) => {
  const scene = await stage(2, 'rerun', LONG_MS);
  const { cell, queue, reply, deliver } = scene;
  const isThere = () => bench.redis.exists(cell.names.queueKey('openai', 'one-0'));
  const passOn = queue.passOn.bind(queue);
  const seen: number[] = [];
  queue.passOn = async (...args) => {
    seen.push(await isThere());
    // Redis is away when the api hears of it first.
    if (seen.length === 1) throw new Error('Connection is closed.');
    return passOn(...args);
  };
  await displace(scene);
  const later = await until('the next job', () => cell.take('anthropic', 'run'));
  t.deepEqual(seen, [1, 1]);
  t.is(await isThere(), 0);
  t.deepEqual(outcomes(later.data), ['backlog']);
  await cell.queue.settle(served(later.data), { as: 'worker', token: 'run' });
  await deliver();
  t.is((await reply).head.served?.provider, 'anthropic');
});

test('a displaced request of the last entry is refused, and leaves nothing behind', async (t) => {
  const scene = await stage(1, 'rerun', LONG_MS);
  const { cell, dispatcher, reply } = scene;
  await displace(scene);
  t.is((await reply).head.error?.code, 'rate_limited');
  t.deepEqual(await bench.redis.keys(cell.names.queueKey('openai', 'one-0*')), []);
  t.is(await bench.redis.zcard(cell.names.queueKey('openai', 'delayed')), 0);
  t.is((await cell.log()).length, 1);
  t.is(dispatcher.pending.size, 0);
});

test('a displaced request whose caller hangs up is taken off its queue', async (t) => {
  const scene = await stage(1, 'rerun', LONG_MS);
  const { cell, dispatcher, reply, queue } = scene;
  const settle = queue.settle.bind(queue);
  let fails = 1;
  queue.settle = async (...args) => {
    if (fails-- > 0) throw new Error('Connection is closed.');
    return settle(...args);
  };
  await displace(scene);
  dispatcher.cancel('one');
  await reply;
  t.deepEqual(await bench.redis.keys(cell.names.queueKey('openai', 'one-0*')), []);
  t.is((await cell.log()).length, 1);
});

test('a request that was displaced from the queue of its last entry is refused, and told when to come back', async (t) => {
  const { cell, dispatcher, reply, active } = await stage(1);
  await active.finish();
  dispatcher.receive({ kind: 'displaced', requestId: 'one', entry: 0 });
  const { error } = (await reply).head;
  t.is(error?.code, 'rate_limited');
  t.true((error?.retryAfterMs ?? 0) >= 1_000 && (error?.retryAfterMs ?? 0) <= 60_000);
  t.deepEqual(
    (await cell.log()).map(({ code, attempts }) => [code, attempts.map(({ outcome }) => outcome)]),
    [['rate_limited', ['backlog']]],
  );
  t.is(dispatcher.pending.size, 0);
});

test('a request that was displaced before its api knew that it waits is refused too', async (t) => {
  const { cell, dispatcher, reply, active, deliver } = await stage(1);
  const add = cell.queue.addChat.bind(cell.queue);
  cell.queue.addChat = async (...args) => {
    const added = await add(...args);
    dispatcher.receive({ kind: 'displaced', requestId: 'two', entry: 0 });
    return added;
  };
  const now = Date.now();
  const two = { ...jobFor('two'), acceptedAt: now, deadline: now + 120_000 };
  const answer = await dispatcher.dispatch(
    { ...two, chain: two.chain.slice(0, 1) },
    JSON.parse(String(two.request)),
  );
  t.is(answer.head.error?.code, 'rate_limited');
  await cell.queue.settle(served(active.data), { as: 'worker', token: 'run' });
  await deliver();
  await reply;
});

test('a request that Redis has lost is put on its queue again', async (t) => {
  const { cell, queue, dispatcher, active, reply, deliver } = await stage(2);
  const logger = createLogger('test', 'silent');
  const net = new SafetyNet({
    queue,
    clock: { now: () => Date.now() },
    logger,
    metrics,
    stopRunning: async () => {},
    caughtUpAt: () => performance.now(),
  });
  await net.sweep(dispatcher);
  t.is(await cell.take('openai', 'other'), undefined, 'a job that is there is left alone');

  await bench.redis.del(...(await bench.redis.keys(`${cell.names.queuePrefix}:*`)));
  await net.sweep(dispatcher);
  await net.sweep(dispatcher);
  const again = await until('the job', () => cell.take('openai', 'again'));
  t.is(again.id, active.id);
  await cell.queue.settle(served(again.data), { as: 'worker', token: 'again' });
  await deliver();
  t.is((await reply).body, '{"answer":true}');
  t.is(dispatcher.pending.size, 0);
});

/** A safety net whose inbox has been read up to `caughtUpAt`. */
function netFor(
  { queue }: Scene,
  caughtUpAt: () => number,
  stopRunning = async (_requestId: string) => {},
): SafetyNet {
  const logger = createLogger('test', 'silent');
  const clock = { now: () => Date.now() };
  return new SafetyNet({ queue, clock, logger, metrics, stopRunning, caughtUpAt });
}

test('a request whose answer has not been read yet is not taken for lost', async (t) => {
  const scene = await stage(1);
  const { cell, dispatcher, active, reply, deliver } = scene;
  await cell.queue.settle(served(active.data), { as: 'worker', token: 'run' });
  await active.finish();
  let caughtUpAt = 0;
  const net = netFor(scene, () => caughtUpAt);
  for (let i = 0; i < 3; i++) await net.sweep(dispatcher);
  t.is(await cell.take('openai', 'again'), undefined);
  await deliver();
  caughtUpAt = performance.now();
  await net.sweep(dispatcher);
  t.is((await reply).body, '{"answer":true}');
  t.is((await cell.log()).length, 1);
});

test('a lost request that may not be run twice is answered with provider_outcome_unknown', async (t) => {
  const scene = await stage(1, 'fail');
  const { cell, dispatcher, reply } = scene;
  await bench.redis.del(...(await bench.redis.keys(`${cell.names.queuePrefix}:*`)));
  const net = netFor(scene, () => performance.now());
  for (let i = 0; i < 2; i++) await net.sweep(dispatcher);
  t.is((await reply).head.error?.code, 'provider_outcome_unknown');
  t.is(await cell.take('openai', 'again'), undefined);
  t.deepEqual(
    (await cell.log()).map(({ attempts }) => attempts.map(({ outcome }) => outcome)),
    [['unknown']],
  );
});

test('a large request whose job was not added does not stay in Redis', async (t) => {
  const scene = await stage(1);
  const { cell, dispatcher, active, reply, deliver } = scene;
  await cell.queue.settle(served(active.data), { as: 'worker', token: 'run' });
  await deliver();
  await reply;
  const ghost = { ...jobFor('ghost'), request: Buffer.from(JSON.stringify({ text: 'x'.repeat(20_000) })) };
  const key = `${cell.names.queueKey('openai', 'ghost-0')}:request`;
  await bench.redis.set(key, ghost.request);
  const net = netFor(scene, () => performance.now());
  net.addGhost(ghost);
  await net.sweep(dispatcher);
  t.is(await bench.redis.exists(key), 0);
});

test('a line of a batch that could not be queued, and is sent again, is not taken for a ghost', async (t) => {
  const scene = await stage(1, 'rerun', LONG_MS);
  const { cell, dispatcher, ghosts, active, reply, deliver } = scene;
  const now = Date.now();
  const job = (id: string) => ({ ...jobFor(id), acceptedAt: now, deadline: now + LONG_MS });
  const line = { ...job('line'), batch: 'batch_1' };
  const send = (one: ChatJob) => dispatcher.dispatch(one, JSON.parse(String(one.request)));
  const add = cell.queue.addChat;
  cell.queue.addChat = () => Promise.reject(new Error('Connection is closed.'));
  await t.throwsAsync(send(job('plain')));
  await t.throwsAsync(send(line));
  cell.queue.addChat = add;
  t.true(ghosts.some(({ requestId }) => requestId === 'plain'));

  const answer = send(line);
  const again = await until('the line', () => cell.take('openai', 'line'));
  const stopped: string[] = [];
  const net = netFor(
    scene,
    () => performance.now(),
    async (id) => void stopped.push(id),
  );
  for (const ghost of ghosts) net.addGhost(ghost);
  await net.sweep(dispatcher);
  t.deepEqual(stopped, [], 'its call goes on');
  await cell.queue.settle(served(again.data), { as: 'worker', token: 'line' });
  await cell.queue.settle(served(active.data), { as: 'worker', token: 'run' });
  await deliver();
  await Promise.all([answer, reply]);
});

test('a refused line that was settled before is forgotten after its deadline', async (t) => {
  const { cell, dispatcher, active, reply, deliver } = await stage(1, 'rerun', LONG_MS);
  await cell.queue.settle(served(active.data), { as: 'worker', token: 'run' });
  await deliver();
  await reply;
  const line = { ...jobFor('line'), batch: 'batch_1' };
  await cell.queue.addChat(line);
  await until('the line', () => cell.take('openai', 'line'));
  t.is(await cell.queue.settle(served(line), { as: 'worker', token: 'line' }), 'settled');

  const refusal = new GatewayError('rate_limited', 'Too many requests.');
  const again = t.throwsAsync(dispatcher.refuse({ ...line, deadline: Date.now() + 500 }, refusal), {
    message: 'The request was not answered before its deadline.',
  });
  await until('nothing to be pending', () => dispatcher.pending.size === 0);
  await again;
  t.deepEqual(
    (await cell.log()).map(({ id, code }) => [id, code]),
    [
      ['one', null],
      ['line', null],
    ],
    'the first settlement counts',
  );
});
