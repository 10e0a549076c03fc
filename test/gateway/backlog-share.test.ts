/** Who may wait when a provider's queue is full: nobody is kept out by another workspace that waits with more. */
import type { ChatJob } from '@sluice/shared/queue/job';
import { startProcesses } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import {
  type Cell,
  createSettleBench,
  jobFor,
  lockOf,
  nextEntry,
  type SettleBench,
} from '../helpers/settle-bench.js';
import { until } from '../helpers/until.js';

let bench: SettleBench;
test.before(async () => {
  bench = await createSettleBench();
});
test.after.always(() => bench?.close());

const MOST = 12;

class FullQueue {
  #sent = 0;

  constructor(
    readonly cell: Cell,
    readonly provider: 'openai' | 'anthropic',
  ) {}

  /** No slot is free, so that all wait by their turn. */
  static async open(provider: 'openai' | 'anthropic' = 'openai'): Promise<FullQueue> {
    const cell = await bench.cell();
    await cell.queue.of(provider).setGlobalConcurrency(1);
    const queue = new FullQueue(cell, provider);
    await cell.queue.addChat(queue.job('running'));
    await cell.take(provider, 'run');
    return queue;
  }

  job(workspace: string, weight = 1): ChatJob {
    const entry = this.provider === 'openai' ? 0 : 1;
    return { ...jobFor(`${workspace}-${this.#sent++}`, entry), workspace, weight };
  }

  /** Sends so many, and says how many of them were taken. */
  async send(workspace: string, times: number, weight = 1): Promise<number> {
    let added = 0;
    for (let i = 0; i < times; i++)
      if ((await this.cell.queue.addChat(this.job(workspace, weight), MOST)) === 'added') added++;
    return added;
  }

  async waiting(): Promise<string[]> {
    return bench.redis.zrange(this.cell.names.queueKey(this.provider, 'prioritized'), '0', '-1');
  }

  async count(workspace: string): Promise<number> {
    return (await this.waiting()).filter((id) => id.startsWith(`${workspace}-`)).length;
  }

  async displaced(): Promise<string[]> {
    return (await this.cell.inbox()).flatMap(({ id, displaced }) =>
      displaced === undefined ? [] : [id ?? ''],
    );
  }
}

test('a workspace that waits with little gets in when another one has filled the queue', async (t) => {
  const queue = await FullQueue.open();
  t.is(await queue.send('loud', MOST + 3), MOST, 'it fills the queue and is refused from then on');
  const newest = (await queue.waiting()).at(-1);
  t.is(await queue.send('quiet', 1), 1);
  t.deepEqual(await queue.displaced(), [newest?.replace(/-0$/, '')], 'its newest makes room');
  t.is((await queue.waiting()).length, MOST, 'no more wait than may');
  const { names } = queue.cell;
  t.is(
    await bench.redis.exists(names.queueKey('openai', newest ?? '')),
    0,
    'an older api process adds it elsewhere',
  );
  t.is(await queue.send('loud', 3), 0, 'the one who has most does not get in');
});

for (const [what, kind, isTold] of [
  ['a request', { protocol: 2 }, true],
  ['a request in the background', { inBackground: true }, false],
] as const)
  test(`${what} that makes room is kept until its wait is over, because its api may be gone`, async (t) => {
    const queue = await FullQueue.open();
    const { queue: jobs, names } = queue.cell;
    await queue.send('loud', MOST - 1);
    const waitUntil = Date.now() + 60_000;
    const last = { ...queue.job('loud'), ...kind, waitUntil };
    t.is(await jobs.addChat(last, MOST), 'added');
    t.is(await queue.send('quiet', 1), 1);
    t.deepEqual(await queue.displaced(), isTold ? [last.requestId] : []);
    t.is((await queue.waiting()).length, MOST, 'no more wait than may');
    const id = `${last.requestId}-0`;
    t.is(await bench.redis.exists(names.queueKey('openai', id)), 1);
    const due = Number(await bench.redis.zscore(names.queueKey('openai', 'delayed'), id)) / 0x1000;
    t.true(
      due > waitUntil && due < waitUntil + 10_000,
      'a worker finds then that it has waited for too long',
    );
    t.is(await jobs.passOn(last, nextEntry(last), MOST), 'moved', 'or its api passes it on before');
    t.is(await bench.redis.zcard(names.queueKey('openai', 'delayed')), 0);
  });

test('full queues are shared equally between those who want more, and by weight', async (t) => {
  const equal = await FullQueue.open();
  await equal.send('first', 20);
  await equal.send('second', 20);
  await equal.send('third', 20);
  for (const workspace of ['first', 'second', 'third'])
    t.true(Math.abs((await equal.count(workspace)) - MOST / 3) <= 1, workspace);

  const weighted = await FullQueue.open();
  await weighted.send('light', 20);
  await weighted.send('heavy', 20, 3);
  t.true(Math.abs((await weighted.count('heavy')) - 9) <= 1, `${await weighted.count('heavy')} of 12`);
});

test('a workspace whose jobs were displaced is put off no further than by the jobs that it still has', async (t) => {
  const queue = await FullQueue.open();
  await queue.send('loud', MOST);
  for (let i = 0; i < 5; i++) await queue.send(`other${i}`, 2);
  const left = await queue.count('loud');
  t.true(left <= 3, `${left} are left`);
  // Now there is room again.
  await queue.cell.queue.addChat(queue.job('loud'));
  for (let i = 0; i < left + 3; i++) await queue.cell.queue.addChat(queue.job('fresh'));
  const order = await queue.waiting();
  const loud = order.filter((id) => id.startsWith('loud-'));
  t.deepEqual(
    loud,
    loud.toSorted((a, b) => numberOf(a) - numberOf(b)),
    'they are served in order',
  );
  const overtakers = order.slice(0, order.indexOf(loud.at(-1) ?? '')).filter((id) => id.startsWith('fresh-'));
  t.true(overtakers.length <= left + 1, `${overtakers.length} of another go first`);
});

test('what falls back to a full queue gets in too, when another workspace has filled it', async (t) => {
  const queue = await FullQueue.open('anthropic');
  await queue.send('loud', MOST);
  const falls = { ...jobFor('falls'), workspace: 'quiet' };
  await queue.cell.queue.addChat(falls);
  await queue.cell.take('openai', 'run');
  t.is(await queue.cell.queue.move(falls, nextEntry(falls), MOST, lockOf('run')), 'moved');
  t.is((await queue.displaced()).length, 1);
  t.is(await queue.count('falls'), 1);
  t.is((await queue.waiting()).length, MOST);

  const more = { ...jobFor('more'), workspace: 'loud' };
  await queue.cell.queue.addChat(more);
  await queue.cell.take('openai', 'another');
  t.is(
    await queue.cell.queue.move(more, nextEntry(more), MOST, lockOf('another')),
    MOST,
    'the one who filled it stays out',
  );
});

function numberOf(jobId: string): number {
  return Number(jobId.split('-')[1]);
}

test('a request that makes room while its api process dies is run and logged', async (t) => {
  const hold = new Hold();
  t.teardown(() => hold.release());
  const gateway = await startProcesses({
    apis: 2,
    providers: { openai: { concurrency: 1, max_backlog: 2, max_wait_ms: 250_000 } },
    routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
    workspaces: { quiet: { routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] } } },
    simulator: { latencyMs: hold.latency },
  });
  t.teardown(() => gateway.stop());
  const body = { model: 'fast', messages: [{ role: 'user', content: 'Hello.' }] };
  const [, dying] = gateway.apis;
  const ask = () => gateway.chat(body, { url: dying?.url ?? '' }).catch(() => 'lost');
  const key = (name: string) => gateway.names.queueKey('openai', name);
  const waiting = () => gateway.redis.zcard(key('prioritized'));
  const lost = [ask()];
  await until('a call', () => hold.held.length === 1);
  lost.push(ask(), ask());
  await until('a full queue', async () => (await waiting()) === 2);

  dying?.child.kill('SIGSTOP');
  const quiet = gateway.chat(body, { key: gateway.keys.quiet ?? '' });
  const [displaced = ''] = await until('a job apart', async () => {
    const ids = await gateway.redis.zrange(key('delayed'), '0', '-1');
    return ids.length > 0 && ids;
  });
  gateway.apis.pop();
  await dying?.end('SIGKILL');
  t.deepEqual(await Promise.all(lost), ['lost', 'lost', 'lost']);
  hold.release();
  t.is((await quiet).status, 200);
  // Its time has come.
  await gateway.redis.zadd(key('delayed'), 'XX', 0, displaced);
  const log = await until('four entries', async () => {
    const entries = await gateway.log();
    return entries.length >= 4 && entries;
  });
  t.deepEqual(
    log.map(({ code }) => code),
    [null, null, null, null],
    'all were served',
  );
  t.true(log.some(({ id }) => `${id}-0` === displaced));
});
