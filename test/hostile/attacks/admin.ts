import type { Attack } from '../stage.js';

const LOOPS = 4;
const UNKNOWN_KEYS = 60_000;

export const unknownKeys: Attack = {
  name: 'unknown-keys',
  does: 'sends bodies with 60,000 unknown keys to the admin listener in four loops, as an operator of one workspace',
  short: true,
  async run(stage) {
    const { adminUrl, adminToken } = stage.gateway;
    const send = async (method: string, path: string, token: string, body: string) => {
      const answer = await fetch(adminUrl + path, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body,
      });
      return { status: answer.status, text: await answer.text() };
    };
    const operator = JSON.stringify({ name: 'attacker', role: 'operator', workspaces: ['attacker'] });
    const { value } = JSON.parse((await send('POST', '/tokens', adminToken, operator)).text);
    const route = Object.fromEntries(Array.from({ length: UNKNOWN_KEYS }, (_, i) => [`k${i}`, i]));
    const body = JSON.stringify(route);
    const statuses = new Set<number>();
    const loop = async () => {
      for (let i = 0; i < (stage.isShort ? 5 : 50); i++)
        statuses.add((await send('PUT', '/workspaces/attacker/routes/r', value, body)).status);
    };
    await Promise.all(Array.from({ length: LOOPS }, loop));
    stage.check(`the attacker got ${[...statuses].join(', ')}`, [...statuses].join() === '400');
  },
};
