import type { Attack, Stage } from '../stage.js';

const MB = 1024 * 1024;

async function repeat(stage: Stage, text: string, times: number): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  for (let i = 0; i < times; i++) {
    const status = (await stage.attack(stage.ask(text)))?.status ?? 0;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  return statuses;
}

export const tooLargeForTheModel: Attack = {
  name: 'too-large-for-the-model',
  does: 'sends 20 requests that the provider refuses with 429 because each is larger than its limit of tokens',
  short: true,
  async run(stage) {
    const message =
      'Request too large for gpt-4o-mini on tokens per min (TPM): Limit 30000, Requested 60000.';
    const body = { error: { message, type: 'tokens', code: 'rate_limit_exceeded', param: null } };
    const headers = { 'retry-after': '86400' };
    stage.gateway.simulator.script({
      match: { textIncludes: 'endless' },
      action: { status: 429, headers, body },
    });
    const statuses = await repeat(stage, 'endless', 20);
    stage.check('the attacker’s were not served', !statuses.has(200));
  },
};

export const failingPrompts: Attack = {
  name: 'failing-prompts',
  does: 'sends 24 prompts, one after the other, that make the provider answer 500',
  short: true,
  async run(stage) {
    stage.gateway.simulator.script({ match: { textIncludes: 'poison' }, action: { status: 500 } });
    const statuses = await repeat(stage, 'poison', 24);
    stage.check('the attacker’s were not served', !statuses.has(200));
  },
};

export const oversizedAnswers: Attack = {
  name: 'oversized-answers',
  does: 'has 10 answers made that are over 16 MB',
  async run(stage) {
    stage.gateway.simulator.script({ match: { textIncludes: 'too much' }, action: { hugeBody: 17 * MB } });
    const statuses = await repeat(stage, 'too much', 10);
    stage.check('the attacker’s were not served', !statuses.has(200));
  },
};
