/**
 * Who gets how much of a provider, with callers that send their next request when the last one is answered. The steps are
 * taken by hand, so that the shares are exact.
 */
import type { ChatJob } from '@sluice/shared/queue/job';
import test from '../helpers/needs-redis.js';
import {
  type ActiveJob,
  type Cell,
  createSettleBench,
  failed,
  jobFor,
  type SettleBench,
  served,
} from '../helpers/settle-bench.js';

let bench: SettleBench;
test.before(async () => {
  bench = await createSettleBench();
});
test.after.always(() => bench?.close());

const SLOTS = 4;

interface Crowd {
  workspace: string;
  callers: number;
  weight?: number;
}

/** A provider with few slots, all of them busy, and the crowds that wait for it. */
class Provider {
  readonly #running: ActiveJob[] = [];
  readonly #waiting: ChatJob[] = [];
  readonly order: string[] = [];
  #sent = 0;

  constructor(private readonly cell: Cell) {}

  async open(crowds: Crowd[]): Promise<void> {
    await this.cell.queue.of('openai').setGlobalConcurrency(SLOTS);
    for (const crowd of crowds) for (let i = 0; i < crowd.callers; i++) await this.send(crowd);
  }

  async send({ workspace, weight }: Pick<Crowd, 'workspace' | 'weight'>): Promise<void> {
    const job = { ...jobFor(`${workspace}-${this.#sent++}`), workspace, ...(weight ? { weight } : {}) };
    this.#waiting.push(job);
    await this.cell.queue.addChat(job);
    await this.#fill();
  }

  /** The oldest call ends, and its caller asks again. */
  async serve(times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      const job = this.#running.shift();
      if (!job) throw new Error('nothing runs');
      await this.cell.queue.settle(served(job.data), { as: 'worker', token: 'run' });
      await this.#fill();
      await this.send(job.data);
    }
  }

  /** The wait of the workspace's oldest requests runs out; their callers ask again. */
  async giveUp(workspace: string, times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      const at = this.#waiting.findIndex((job) => job.workspace === workspace);
      const [job] = this.#waiting.splice(at, 1);
      if (!job) throw new Error('nothing waits');
      await this.cell.queue.settle(failed(job), { as: 'withdrawer' });
      await this.send(job);
    }
  }

  count(workspace: string, since = 0): number {
    return this.order.slice(since).filter((id) => id.startsWith(`${workspace}-`)).length;
  }

  async #fill(): Promise<void> {
    while (this.#running.length < SLOTS) {
      const job = await this.cell.take('openai', 'run');
      if (!job) return;
      this.#running.push(job);
      this.#waiting.splice(
        this.#waiting.findIndex(({ requestId }) => requestId === job.data.requestId),
        1,
      );
      this.order.push(job.data.requestId);
    }
  }
}

async function open(crowds: Crowd[]): Promise<Provider> {
  const provider = new Provider(await bench.cell());
  await provider.open(crowds);
  return provider;
}

test('workspaces that want more than their share get equal shares, whatever their load', async (t) => {
  const provider = await open([
    { workspace: 'small', callers: 6 },
    { workspace: 'large', callers: 25 },
  ]);
  await provider.serve(120);
  const since = provider.order.length;
  await provider.serve(100);
  t.true(Math.abs(provider.count('small', since) - 50) <= 2, `${provider.count('small', since)} of 100`);
});

test('who wants less than a share gets all of it, and the others share the rest', async (t) => {
  const provider = await open([
    { workspace: 'a', callers: 20 },
    { workspace: 'b', callers: 9 },
  ]);
  await provider.serve(30);
  const since = provider.order.length;
  for (let i = 0; i < 20; i++) {
    await provider.send({ workspace: 'modest' });
    const before = provider.order.length;
    await provider.serve(2);
    t.true(
      provider.order.slice(before - 1).some((id) => id.startsWith('modest')),
      'it is among the next two',
    );
  }
  const [a, b] = [provider.count('a', since), provider.count('b', since)];
  t.true(Math.abs(a - b) <= 3, `${a} and ${b}`);
});

test('a workspace of weight 3 gets three turns for one', async (t) => {
  const provider = await open([
    { workspace: 'heavy', callers: 20, weight: 3 },
    { workspace: 'light', callers: 20 },
  ]);
  await provider.serve(40);
  const since = provider.order.length;
  await provider.serve(100);
  t.true(Math.abs(provider.count('heavy', since) - 75) <= 3, `${provider.count('heavy', since)} of 100`);
});

test('within a workspace requests are served in order', async (t) => {
  const provider = await open([
    { workspace: 'a', callers: 12, weight: 2 },
    { workspace: 'b', callers: 17 },
  ]);
  await provider.serve(80);
  for (const workspace of ['a', 'b']) {
    const numbers = provider.order
      .filter((id) => id.startsWith(workspace))
      .map((id) => Number(id.split('-')[1]));
    t.deepEqual(
      numbers,
      numbers.toSorted((x, y) => x - y),
    );
  }
});

test('a workspace whose requests give up waiting keeps its share', async (t) => {
  const provider = await open([
    { workspace: 'patient', callers: 20 },
    { workspace: 'hasty', callers: 20 },
  ]);
  for (let i = 0; i < 30; i++) {
    await provider.giveUp('hasty', 4);
    await provider.serve(2);
  }
  const since = provider.order.length;
  await provider.serve(60);
  t.true(provider.count('hasty', since) >= 28, `${provider.count('hasty', since)} of 60`);
});

test('while a slot is free, jobs cost nothing beyond the plain list', async (t) => {
  const cell = await bench.cell();
  await cell.queue.of('openai').setGlobalConcurrency(SLOTS);
  for (let i = 0; i < SLOTS; i++) await cell.queue.addChat(jobFor(`r${i}`));
  t.is(await bench.redis.llen(cell.names.queueKey('openai', 'wait')), SLOTS);
  t.is(await bench.redis.exists(cell.names.queueKey('openai', 'fair')), 0);
  await cell.queue.addChat(jobFor('more'));
  t.is(await bench.redis.zcard(cell.names.queueKey('openai', 'prioritized')), 1);
});
