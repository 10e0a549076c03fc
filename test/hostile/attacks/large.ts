import type { Attack } from '../stage.js';

const MB = 1024 * 1024;

export const largeBodies: Attack = {
  name: 'large-bodies',
  does: 'sends, with an accomplice, 20 bodies of 9.5 MB each at once, again and again, to processes of 512 MiB',
  short: true,
  confined: true,
  async run(stage) {
    const body = JSON.stringify(stage.ask('x'.repeat(9.5 * MB)));
    const statuses = new Map<number, number>();
    for (let round = 0; round < (stage.isShort ? 1 : 5); round++) {
      const keys = [stage.gateway.keys.attacker, stage.gateway.keys.demo];
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, i) => stage.attack(body, {}, keys[i % 2])),
      );
      for (const answer of answers) {
        const status = answer?.status ?? 0;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    }
    stage.note(
      `the attacker got ${[...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')}`,
    );
    stage.check('some of the attacker’s were served', (statuses.get(200) ?? 0) > 0);
    stage.check('some of the attacker’s were refused', (statuses.get(429) ?? 0) > 0);
  },
};

export const largeAnswers: Attack = {
  name: 'large-answers',
  does: 'has 32 answers of 15 MB made at once, by processes of 512 MiB',
  short: true,
  confined: true,
  async run(stage) {
    const text = 'y'.repeat(15 * MB);
    stage.gateway.simulator.script({ match: { textIncludes: 'say much' }, action: { text } });
    const count = stage.isShort ? 8 : 32;
    const answers = await Promise.all(
      Array.from({ length: count }, async () => (await stage.attack(stage.ask('say much')))?.status),
    );
    const served = answers.filter((status) => status === 200).length;
    stage.note(`${served} of ${count} large answers arrived`);
    stage.check('every large answer arrived', served === count);
  },
};
