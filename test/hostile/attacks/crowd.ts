import { until } from '../../helpers/until.js';
import type { Attack } from '../stage.js';

const SLOW_MS = 150;

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
