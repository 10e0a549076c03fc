import { until } from '../../helpers/until.js';
import { callsFor } from '../../helpers/upstream-calls.js';
import type { Attack, Stage } from '../stage.js';

const SLOW_MS = 150;
const MB = 1024 * 1024;

export const sameKey: Attack = {
  name: 'same-key',
  does: 'sends the same request 120 times at once with one Idempotency-Key, and has it answered with 2 MB',
  short: true,
  async run(stage) {
    const { simulator } = stage.gateway;
    const text = 'w'.repeat(2 * MB);
    simulator.script({ match: { textIncludes: 'for all' }, action: { text, delayMs: 1_000 } });
    const before = await peakBytes(stage);
    const answers = await Promise.all(
      Array.from({ length: 120 }, () => stage.attack(stage.ask('for all'), { 'idempotency-key': 'shared' })),
    );
    const served = answers.filter((answer) => answer?.status === 200).length;
    const refused = answers.filter((answer) => answer?.status === 429).length;
    const grown = ((await peakBytes(stage)) - before) / MB;
    stage.note(`${served} got the answer and ${refused} were refused; Redis grew by ${grown.toFixed(0)} MB`);
    stage.check(`${served} served and ${refused} refused`, served > 1 && served + refused === 120);
    stage.check(`Redis grew by ${grown} MB`, grown < 30);
    const calls = callsFor(simulator, 'for all').length;
    stage.check(`the provider was called ${calls} times`, calls === 1);
  },
};

async function peakBytes({ gateway }: Stage): Promise<number> {
  const info = await gateway.redis.info('memory');
  return Number(/^used_memory_peak:(\d+)/m.exec(info)?.[1] ?? 0);
}

export const fullBacklog: Attack = {
  name: 'full-backlog',
  does: 'keeps 60 requests on the way to a provider with 2 slots and a max_backlog of 20',
  short: true,
  gateway: {
    providers: { openai: { concurrency: 2, max_backlog: 20, max_wait_ms: 60_000, circuit_failures: 0 } },
    simulator: { latencyMs: SLOW_MS },
  },
  async run(stage) {
    const { gateway } = stage;
    let isOver = false;
    const statuses = new Map<number, number>();
    const caller = async () => {
      while (!isOver) {
        const status = (await stage.attack(stage.ask('more')))?.status ?? 0;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status !== 200) await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
      }
    };
    const callers = Promise.all(Array.from({ length: 60 }, caller));
    await until('the queue is full', async () => (await gateway.backlog('openai')) === 20);
    await new Promise((resolve) => setTimeout(resolve, stage.isShort ? 1_500 : 15_000));
    isOver = true;
    await callers;
    stage.note(
      `the attacker got ${[...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')}`,
    );
    stage.check('some of the attacker’s were served', (statuses.get(200) ?? 0) > 0);
    stage.check('some of the attacker’s were refused', (statuses.get(429) ?? 0) > 0);
  },
};
