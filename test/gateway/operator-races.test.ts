/** Operators who change things while callers, or other operators, use them. */

import { adminOf, type CallAdmin, freeId } from '../helpers/admin.js';
import { type ChatAnswer, type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { sluiceOf } from '../helpers/sluice.js';
import { until } from '../helpers/until.js';

let gateway: Gateway;
let admin: CallAdmin;
test.before(async () => {
  gateway = await startGateway({ ownRedis: true, apis: 2 });
  admin = adminOf(gateway);
});
test.after.always(() => gateway?.stop());

const FAST = [{ provider: 'openai', model: 'gpt-4o-mini' }];

async function createTenant(id: string) {
  await admin('POST', '/workspaces', { id, limits: { budget_usd_per_month: 100, concurrent_requests: 500 } });
  await admin('PUT', `/workspaces/${id}/routes/fast`, FAST);
  return (await admin('POST', `/workspaces/${id}/keys`, { name: 'main' })).body;
}
const ask = (key: string, i: number): Promise<ChatAnswer> =>
  gateway.chat(
    { model: 'fast', messages: [{ role: 'user', content: 'Hello' }] },
    { key, url: gateway.urls[i % gateway.urls.length] ?? '' },
  );

test.serial('a key that is rotated while in use, by several at once, fails nobody', async (t) => {
  const first = await createTenant('rotating');
  const values = [first.value];
  let isOver = false;
  const callers = Array.from({ length: 8 }, async (_, i) => {
    let count = 0;
    for (; !isOver || count < 5; count++) {
      const { status, body } = await ask(values[(i + count) % values.length], count);
      t.is(status, 200, body.error?.message);
    }
    return count;
  });
  let current = first.id;
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => admin('POST', `/keys/${current}/rotate`, { grace_seconds: 600 })),
    );
    const done = answers.filter(({ status }) => status === 201);
    t.true(done.length >= 1);
    t.true(answers.every(({ status, body }) => status === 201 || body.error.code === 'conflict'));
    values.push(...done.map(({ body }) => body.value));
    current = done.at(-1)?.body.id;
  }
  isOver = true;
  t.true((await Promise.all(callers)).every((count) => count >= 5));
  t.is((await admin('GET', '/workspaces/rotating/keys')).body.data.length, values.length);
});

test.serial('a workspace deleted under load answers what it has accepted, and leaks nothing', async (t) => {
  const { value } = await createTenant('doomed');
  gateway.simulator.script({ match: { model: 'gpt-4o-mini' }, action: { delayMs: 50 } });
  const answers: ChatAnswer[] = [];
  const callers = Array.from({ length: 20 }, async (_, i) => {
    for (;;) {
      const answer = await ask(value, i);
      answers.push(answer);
      if (answer.status !== 200) return answer;
    }
  });
  await until('it is under load', async () => answers.length > 40);
  const deletions = await Promise.all([1, 2].map(() => admin('DELETE', '/workspaces/doomed')));
  t.deepEqual(deletions.map(({ status }) => status).sort(), [200, 404]);
  // An api process may have the key in its cache a moment longer than the route.
  for (const { body } of await Promise.all(callers))
    t.true(['invalid_api_key', 'model_not_found'].includes(body.error.code), body.error.code);

  const served = answers.filter(({ status }) => status === 200);
  const logged = (await gateway.log()).filter(({ workspace }) => workspace === 'doomed');
  t.is(logged.length, served.length);
  const { total } = (await admin('GET', '/spend?workspace=doomed&since=1d')).body;
  t.is(total.requests, served.length);
  await freeId(gateway, 'doomed');
  await admin('POST', '/workspaces', { id: 'doomed' });
  const { used } = (await admin('GET', '/workspaces/doomed/limits')).body;
  t.like(used, { in_flight: 0, reserved_picodollars: '0', spent_picodollars: '0' });
});

test.serial('of two operators who change one route at once, one is told of the other', async (t) => {
  const path = '/workspaces/demo/routes/contested';
  const chain = (model: string) => [{ provider: 'openai', model }];
  const put = (model: string, headers: Record<string, string>) =>
    admin('PUT', path, chain(model), { headers });
  const statuses = async (round: number, headers: Record<string, string>) => {
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((name) => put(`${name}-${round}`, headers)));
    return answers.map(({ status }) => status).sort();
  };
  t.deepEqual(await statuses(1, { 'if-none-match': '*' }), [201, 409, 409, 409]);
  const { version } = (await admin('GET', path)).body;
  t.deepEqual(await statuses(2, { 'if-match': `"${version}"` }), [200, 409, 409, 409]);
  const late = await put('e', { 'if-match': `"${version}"` });
  t.regex(late.body.error.message, /Somebody else has just changed this route/);
  // Who does not say what they have seen replaces whatever is there.
  t.is((await put('e', {})).status, 200);
});

test.serial('while Redis does not answer, every command says so in one line and ends with 1', async (t) => {
  const sluice = sluiceOf(gateway);
  const { pid } = gateway.redisServer;
  process.kill(pid, 'SIGSTOP');
  t.teardown(() => process.kill(pid, 'SIGCONT'));
  const commands = ['status', 'keys list', 'limits list demo', 'requests', 'spend', 'keys issue demo x'];
  const answers = await Promise.all(commands.map((command) => sluice(command)));
  const away = { code: 1, out: '', err: 'sluice: The gateway’s queue cannot be reached.\n' };
  t.deepEqual(
    answers.map(({ code, out, err }) => ({ code, out, err })),
    commands.map(() => away),
  );
});
