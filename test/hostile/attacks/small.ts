import { adminOf, freeId } from '../../helpers/admin.js';
import type { Attack } from '../stage.js';

const MB = 1024 * 1024;

export const manyParts: Attack = {
  name: 'many-parts',
  does: 'sends bodies of 9.8 MB with 380,000 tiny content parts, one after the other',
  short: true,
  async run(stage) {
    const content = Array.from({ length: 380_000 }, () => ({ type: 'text', text: '' }));
    const body = JSON.stringify({ model: 'solo', messages: [{ role: 'user', content }] });
    for (let i = 0; i < (stage.isShort ? 2 : 10); i++) {
      const answer = await stage.attack(body);
      stage.check(`it got ${answer?.status}`, answer?.status === 400 || answer?.status === 429);
    }
  },
};

export const keptAnswers: Attack = {
  name: 'kept-answers',
  does: 'has 40 answers of 1 MB kept under Idempotency-Keys, in a Redis of 100 MB, with a quota of 10 MB',
  short: true,
  gateway: {
    request: { max_kept_answer_bytes: 10 * MB },
    redisExtra: ['--maxmemory', '100mb', '--maxmemory-policy', 'noeviction'],
  },
  async run(stage) {
    const { redis, names, simulator } = stage.gateway;
    simulator.script({ match: { textIncludes: 'keep it' }, action: { text: 'z'.repeat(MB) } });
    for (let i = 0; i < (stage.isShort ? 12 : 40); i++) {
      const answer = await stage.attack(stage.ask(`keep it ${i}`), { 'idempotency-key': String(i) });
      stage.check(`it got ${answer?.status}`, answer?.status === 200);
    }
    const kept = Number(await redis.get(names.keptAnswerBytes('attacker')));
    stage.note(`${(kept / MB).toFixed(1)} MB are kept`);
    stage.check(`${kept} bytes are kept`, kept > 0 && kept <= 10 * MB);
  },
};

export const beyondItsLimit: Attack = {
  name: 'beyond-its-limit',
  does: 'sends 600 requests on a limit of one a minute',
  short: true,
  limits: { requests_per_minute: 1, when_full: 'refuse' },
  async run(stage) {
    const rounds = stage.isShort ? 20 : 60;
    const send = async () => {
      for (let i = 0; i < rounds; i++) await stage.attack(stage.ask('again'));
    };
    await Promise.all(Array.from({ length: 10 }, send));
    const entries = (await stage.gateway.log()).filter(({ workspace }) => workspace === 'attacker').length;
    stage.note(`${entries} entries of the request log are the attacker’s`);
    // A minute may end meanwhile: 60 refusals in each, the ones that were served, and those that were logged together.
    stage.check(`${entries} entries of the request log`, entries <= 2 * 60 + 4);
  },
};

export const sameNameAgain: Attack = {
  name: 'same-name-again',
  does: 'has a workspace made with the id of one that was deleted and erased, and sends that one’s Idempotency-Keys again',
  short: true,
  async run(stage) {
    const admin = adminOf(stage.gateway);
    const chain = [{ provider: 'openai', model: 'gpt-4o-mini' }];
    const bodies: string[] = [];
    for (let tenant = 0; tenant < 2; tenant++) {
      await admin('POST', '/workspaces', { id: 'reborn' });
      await admin('PUT', '/workspaces/reborn/routes/solo', { chain });
      const { body } = await admin('POST', '/workspaces/reborn/keys', { name: 'first' });
      for (let i = 0; i < 5; i++) {
        const headers = { 'idempotency-key': String(i) };
        const answer = await stage.attack(stage.ask(`question ${i}`), headers, body.value);
        stage.check(`it got ${answer?.status}`, answer?.status === 200);
        stage.check('it is no replay', answer?.headers.get('idempotent-replayed') == null);
        bodies.push(answer?.body.id);
      }
      await admin('DELETE', '/workspaces/reborn');
      stage.check(
        'the id is not free',
        (await admin('POST', '/workspaces', { id: 'reborn' })).status === 409,
      );
      await freeId(stage.gateway, 'reborn');
    }
    stage.check('each answer is its own', new Set(bodies).size === bodies.length);
  },
};
