/** `retry-after` is a promise: who comes back in time is not refused again. */
import { type Gateway, startGateway } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

let gateway: Gateway;
/** Its upstream refuses for as long as it is closed, and its model cools down. */
let closed: Gateway;
const hold = new Hold();
const ROUTES = { only: [{ provider: 'openai', model: 'gpt-4o-mini' }] };

test.before(async () => {
  [closed, gateway] = await Promise.all([
    startGateway({
      providers: { openai: { max_wait_ms: 500 } },
      routes: ROUTES,
      workspaces: { other: { routes: ROUTES } },
    }),
    startGateway({
      apis: 2,
      providers: { openai: { concurrency: 1, max_wait_ms: 500 } },
      routes: ROUTES,
      simulator: { latencyMs: hold.latency },
    }),
  ]);
});
test.after.always(() => {
  hold.release();
  return Promise.all([gateway?.stop(), closed?.stop()]);
});

const HELLO = { model: 'only', messages: [{ role: 'user', content: 'Hello' }] };
const ask = (api = 0) => gateway.chat(HELLO, { url: gateway.urls[api] ?? '' });
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('a caller who comes back in time waits, at any api, and one without a promise is refused', async (t) => {
  let first = ask();
  await until('the only slot is taken', async () => {
    // On a busy machine it is refused before a worker has seen it.
    if (await Promise.race([first, undefined])) first = ask();
    return hold.held.length === 1;
  });
  const refused = await ask();
  t.is(refused.status, 429, JSON.stringify(refused.body));
  const told = Number(refused.headers.get('retry-after'));
  t.true(told >= 1);
  await sleep(1_000 * told);

  const back = ask(1);
  await until('it waits', async () => (await gateway.backlog('openai')) === 1);
  // The promise is kept once, so this one is refused after its wait, and the other one still waits then.
  t.is((await ask()).status, 429);
  t.is(await gateway.backlog('openai'), 1);
  hold.release();
  t.is((await first).status, 200);
  t.is((await back).status, 200);
});

test('a caller whom the provider has refused waits when it comes back, until the provider takes it', async (t) => {
  const { calls } = closed.simulator;
  const refuse = (times: number) =>
    closed.simulator.script({
      match: { model: 'gpt-4o-mini' },
      times,
      action: { status: 429, headers: { 'retry-after': '1' } },
    });
  refuse(1);
  const refused = await closed.chat(HELLO);
  t.like(refused, { status: 429, body: { error: { code: 'rate_limited' } } });
  await sleep(1_000 * Number(refused.headers.get('retry-after')));
  // Its own call is refused again, and the model is closed for longer than others wait.
  refuse(2);
  const back = await closed.chat(HELLO);
  t.is(back.status, 200, JSON.stringify(back.body));
  t.is(calls.length, 4);

  // Another caller's call closes the model a moment before.
  refuse(1);
  const again = await closed.chat(HELLO);
  await sleep(1_000 * Number(again.headers.get('retry-after')));
  refuse(1);
  t.is((await closed.chat(HELLO, { key: closed.keys.other ?? '' })).status, 429);
  t.is((await closed.chat(HELLO)).status, 200);
});
