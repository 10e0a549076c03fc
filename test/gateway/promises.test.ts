/** `retry-after` is a promise: who comes back in time is not refused again. */
import { type Gateway, startGateway } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

let gateway: Gateway;
const hold = new Hold();

test.before(async () => {
  gateway = await startGateway({
    apis: 2,
    providers: { openai: { concurrency: 1, max_wait_ms: 500 } },
    routes: { only: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
    simulator: { latencyMs: hold.latency },
  });
});
test.after.always(() => {
  hold.release();
  return gateway?.stop();
});

const ask = (api = 0) =>
  gateway.chat(
    { model: 'only', messages: [{ role: 'user', content: 'Hello' }] },
    { url: gateway.urls[api] ?? '' },
  );

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
  await new Promise((resolve) => setTimeout(resolve, 1_000 * told));

  const back = ask(1);
  await until('it waits', async () => (await gateway.backlog('openai')) === 1);
  // The promise is kept once, so this one is refused after its wait, and the other one still waits then.
  t.is((await ask()).status, 429);
  t.is(await gateway.backlog('openai'), 1);
  hold.release();
  t.is((await first).status, 200);
  t.is((await back).status, 200);
});
