import type { Attack, Stage } from '../stage.js';

const PICODOLLARS = 1e12;

/** What the attacker's calls have cost, or may have. */
async function spentUsd({ gateway }: Stage): Promise<number> {
  const entries = (await gateway.log()).filter(({ workspace }) => workspace === 'attacker');
  const spent = entries.reduce((sum, { served }) => sum + (served?.cost ?? 0), 0);
  return spent / PICODOLLARS;
}

async function checkSpent(stage: Stage, budget: number): Promise<void> {
  const spent = await spentUsd(stage);
  stage.note(`${spent.toFixed(2)} USD spent of a budget of ${budget}`);
  stage.check(`spent ${spent} USD of a budget of ${budget}`, spent <= budget);
}

export const dearCalls: Attack = {
  name: 'dear-calls',
  does: 'sends 39 calls of o1 without max_tokens at once on a budget of 10 USD, each answered with 100,000 tokens',
  short: true,
  limits: { budget_usd_per_month: 10 },
  async run(stage) {
    stage.gateway.simulator.script({
      match: { model: 'o1' },
      action: { usage: { completion_tokens: 100_000 } },
    });
    const dear = stage.ask('think hard', { model: 'o1' });
    await Promise.all(Array.from({ length: 39 }, () => stage.attack(dear)));
    await checkSpent(stage, 10);
  },
};

export const largeTools: Attack = {
  name: 'large-tools',
  does: 'sends 2 MB of tools with a short message on a budget of 1 USD',
  short: true,
  limits: { budget_usd_per_month: 1 },
  async run(stage) {
    stage.gateway.simulator.script({ match: { model: 'o1' }, action: { usage: { prompt_tokens: 500_000 } } });
    const description = 'x'.repeat(2_000_000);
    const tools = [
      { type: 'function', function: { name: 'f', description, parameters: { type: 'object' } } },
    ];
    const answer = await stage.attack(stage.ask('hello', { model: 'o1', tools, max_tokens: 10 }));
    stage.note(`answered with ${answer?.status} ${answer?.body.error?.code ?? ''}`.trim());
    await checkSpent(stage, 1);
  },
};

export const unknownPrices: Attack = {
  name: 'unknown-prices',
  does: 'asks for a model, a service tier and a field without a known price, on a budget of 0 USD',
  short: true,
  limits: { budget_usd_per_month: 0 },
  async run(stage) {
    const wishes = [
      { model: 'gpt-unheard-of' },
      { model: 'gpt-4o-mini', service_tier: 'ultrafast' },
      { model: 'gpt-4o-mini', models: ['o1'], plugins: [{ id: 'web' }] },
    ];
    for (const wish of wishes) {
      const answer = await stage.attack(stage.ask('hello', wish));
      stage.check(`${JSON.stringify(wish)} got ${answer?.status}`, answer?.status === 429);
    }
    await checkSpent(stage, 0);
  },
};
