/** A provider for which nobody has set how many calls may run at a time. */
import { adminOf } from '../helpers/admin.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

const HIDDEN = 3;
const MANY = 24;

/** Its upstream refuses a fourth call at a time, and says nothing but 429. */
let strict: Gateway;
/** Its upstream takes any number. */
let open: Gateway;
const hold = new Hold();
const narrow = new Hold();

const ROUTES = { only: [{ provider: 'openai', model: 'gpt-4o-mini' }] };

test.before(async () => {
  [strict, open] = await Promise.all([
    startGateway({
      workers: 2,
      routes: ROUTES,
      simulator: { limits: { openai: { concurrent: HIDDEN } }, latencyMs: narrow.latency },
    }),
    startGateway({
      routes: ROUTES,
      providers: {
        pinned: {
          kind: 'openai',
          base_url: '${OPENAI_BASE_URL}',
          api_key: '${OPENAI_API_KEY}',
          concurrency: 5,
          max_wait_ms: 600_000,
        },
      },
      workspaces: {
        calm: { routes: { pinned: [{ provider: 'pinned', model: 'gpt-4o' }], only: ROUTES.only } },
      },
      simulator: { latencyMs: hold.latency },
    }),
  ]);
});
test.after.always(() => {
  hold.release();
  narrow.release();
  return Promise.all([strict?.stop(), open?.stop()]);
});

const ask = (gateway: Gateway, model = 'only', key = gateway.key) =>
  gateway.chat({ model, messages: [{ role: 'user', content: 'Hello' }] }, { key });

async function statusOf(gateway: Gateway, provider = 'openai') {
  const { body } = await adminOf(gateway)('GET', '/status');
  return body.providers.find(({ name }: { name: string }) => name === provider);
}

test('a hidden limit is found, and every caller is served', async (t) => {
  const asked = Array.from({ length: MANY }, () => ask(strict));
  const { concurrency_change: change, cool_downs: coolDowns } = await until(
    'as many wait as do not fit',
    async () => {
      const status = await statusOf(strict);
      return status.concurrency === HIDDEN && status.waiting === MANY - HIDDEN && status;
    },
  );
  t.is(change.reason, 'refused');
  t.deepEqual(coolDowns, []);
  narrow.release();
  t.deepEqual(new Set((await Promise.all(asked)).map(({ status }) => status)), new Set([200]));

  const refused = strict.simulator.calls.filter(({ status }) => status === 429).length;
  t.true(refused > 0);
  const outcomes = (await strict.log()).flatMap(({ attempts }) => attempts.map(({ outcome }) => outcome));
  t.is(outcomes.filter((outcome) => outcome === 'rate_limited').length, refused);
  t.is(outcomes.filter((outcome) => outcome === 'ok').length, MANY);
});

test.serial('the limit grows while calls are asked for, and what is set stays', async (t) => {
  hold.hold();
  const key = open.keys.calm ?? '';
  const asked = Array.from({ length: MANY }, () => ask(open));
  const pinned = Array.from({ length: MANY }, () => ask(open, 'pinned', key));
  const calls = (model: string) => open.simulator.calls.filter((call) => call.model === model).length;
  await until('all calls that are asked for', () => calls('gpt-4o-mini') === MANY);
  await until('the calls that may run', () => calls('gpt-4o') === 5);
  const [found, set] = await Promise.all([statusOf(open), statusOf(open, 'pinned')]);
  t.true(found.concurrency >= MANY);
  t.is(found.concurrency_change.reason, 'demand');
  t.is(set.concurrency, 5);
  t.is(set.concurrency_change, null);
  hold.release();
  t.deepEqual(
    new Set((await Promise.all([...asked, ...pinned])).map(({ status }) => status)),
    new Set([200]),
  );
});

test.serial(
  'a limit per minute and a failure leave the number alone, and a want of capacity lowers it',
  async (t) => {
    hold.release();
    const { concurrency: before } = await statusOf(open);
    const fail = async (status: number) => {
      open.simulator.script({ match: { model: 'gpt-4o-mini' }, times: 1, action: { status } });
      await ask(open);
      await adminOf(open)('DELETE', '/cooldowns/openai');
    };
    await fail(429);
    await fail(500);
    t.is((await statusOf(open)).concurrency, before);
    await fail(503);
    const lowered = await until('the number to be lowered', async () => {
      const status = await statusOf(open);
      return status.concurrency < before && status;
    });
    t.is(lowered.concurrency, Math.floor(0.9 * before));
    t.is(lowered.concurrency_change.reason, 'overloaded');
  },
);
