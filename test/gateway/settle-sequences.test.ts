/**
 * Whatever workers and the api do, in whatever order, a request is settled exactly once. The moves that a run makes are
 * those that a worker can make: also one that was taken for dead, and wakes up late.
 */
import type { ChatJob } from '@sluice/shared/queue/job';
import fc from 'fast-check';
import test from '../helpers/needs-redis.js';
import {
  type ActiveJob,
  type Cell,
  createSettleBench,
  failed,
  jobFor,
  nextEntry,
  PROVIDERS,
  type SettleBench,
  served,
} from '../helpers/settle-bench.js';

let bench: SettleBench;
test.before(async () => {
  bench = await createSettleBench();
});
test.after.always(() => bench?.close());

const STEPS = ['take', 'settle', 'move', 'complete', 'crash', 'pass-on', 'give-up', 'add-again'] as const;
type Step = (typeof STEPS)[number];

class Story {
  readonly #runs: { job: ActiveJob; data: ChatJob; token: string; lost: boolean }[] = [];
  /** As the api knows it; it does nothing more once it has answered its caller. */
  #atApi: ChatJob;
  /** How many workers have died with its job, as far as the api knows. */
  #died = 0;
  answeredByApi = 0;

  constructor(
    private readonly cell: Cell,
    requestId: string,
  ) {
    this.#atApi = jobFor(requestId);
  }

  start(): Promise<unknown> {
    return this.cell.queue.addChat(this.#atApi);
  }

  /** `pick` chooses among the runs, the latest first; a step that is not possible now is passed over. */
  async do(step: Step, pick: number): Promise<void> {
    const { queue } = this.cell;
    if (step === 'take') return this.#take();
    if (step === 'pass-on' || step === 'give-up' || step === 'add-again') return this.#api(step);
    const run = this.#runs.at(-1 - (pick % Math.max(1, this.#runs.length)));
    if (!run) return;
    const { data, token } = run;
    switch (step) {
      case 'settle':
        await queue.settle(served(data), { as: 'worker', token });
        return;
      case 'move':
        if (data.entry === 0) await queue.move(data, nextEntry(data), 1_000, run.job.lock);
        return;
      case 'complete':
        // A worker ends a job without settling it only when it has moved it, or knows that it has lost it.
        if (run.lost || (await queue.missing([data])).length === 0) return;
        run.lost = true;
        await run.job.finish();
        return;
      case 'crash':
        if (run.lost) return;
        run.lost = true;
        await run.job.stall();
    }
  }

  async #take(): Promise<void> {
    const token = `run-${this.#runs.length}`;
    const job = await this.#next(token);
    if (job) this.#runs.push({ job, data: job.data, token, lost: false });
  }

  async #next(token: string): Promise<ActiveJob | undefined> {
    for (const provider of PROVIDERS) {
      const job = await this.cell.take(provider, token);
      if (job) return job;
    }
    return undefined;
  }

  async #api(step: 'pass-on' | 'give-up' | 'add-again'): Promise<void> {
    if (this.answeredByApi > 0) return;
    const { queue } = this.cell;
    const notices = (await this.cell.inbox()).filter((message) => message.id === this.#atApi.requestId);
    if (this.#atApi.entry === 0) {
      const moved = notices.find((message) => message.moved)?.moved;
      if (moved) {
        this.#atApi = { ...this.#atApi, ...JSON.parse(moved) };
        this.#died = 0;
      }
    }
    // The safety net, when Redis has lost the job, or the reply has not been read.
    if (step === 'add-again') await queue.addAgain(this.#atApi);
    else if (step === 'give-up') {
      const by = { as: 'withdrawer', died: this.#died } as const;
      const result = await queue.settle(failed(this.#atApi), by);
      if (result === 'settled') this.answeredByApi++;
      this.#died = typeof result === 'number' ? result : this.#died;
    } else if (this.#atApi.entry === 0) {
      const next = nextEntry(this.#atApi);
      const result = await queue.passOn(this.#atApi, next, 1_000, this.#died);
      this.#died = typeof result === 'number' ? result : this.#died;
      if (result !== 'moved') return;
      this.#died = 0;
      this.#atApi = { ...this.#atApi, ...next };
    }
  }

  /** All workers die, and a good one does what is left. */
  async end(): Promise<void> {
    for (let i = 0; i < this.#runs.length; i++) await this.do('crash', i);
    for (let job = await this.#next('good'); job; job = await this.#next('good')) {
      const { data } = job;
      await this.cell.queue.settle(served(data), { as: 'worker', token: 'good' });
      await job.finish();
    }
  }
}

test('a request is settled exactly once, whatever happens to its jobs', async (t) => {
  const cell = await bench.cell();
  const seen = new Set<string>();
  let requests = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...STEPS), fc.nat(2)), { maxLength: 40, size: 'max' }),
      async (steps) => {
        const requestId = `r${requests++}`;
        const story = new Story(cell, requestId);
        await story.start();
        for (const [step, pick] of steps) await story.do(step, pick);
        await story.end();

        const log = (await cell.log()).filter(({ id }) => id === requestId);
        const replies = (await cell.inbox()).filter(({ id, head }) => id === requestId && head !== undefined);
        if (log.length !== 1) throw new Error(`${log.length} log entries`);
        if (replies.length + story.answeredByApi !== 1) {
          throw new Error(`${replies.length} replies by workers, ${story.answeredByApi} answers of the api`);
        }
        const left = await bench.redis.keys(`${cell.names.queuePrefix}:*${requestId}-*`);
        if (left.length > 0) throw new Error(`left: ${left}`);
        seen.add(`${log[0]?.served?.provider} ${story.answeredByApi}`);
        await bench.redis.del(cell.names.requestLog, cell.names.inbox('api'));
      },
    ),
    { numRuns: 300 },
  );
  // The sequences reach every way for a request to end.
  t.deepEqual([...seen].sort(), ['anthropic 0', 'openai 0', 'undefined 1']);
  const counted = Object.entries(await cell.ledger()).filter(([column]) => column.endsWith(':requests'));
  t.true(counted.reduce((sum, [, count]) => sum + Number(count), 0) <= requests);
});
