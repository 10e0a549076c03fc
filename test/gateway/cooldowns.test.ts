/** A provider asks to be left alone: for one request, for too long, and until an operator says otherwise. */
import { adminOf } from '../helpers/admin.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

let gateway: Gateway;
/** Its cool-downs end soon. */
let brief: Gateway;
/** Holds the answers of its upstream. */
const hold = new Hold();
/** Nobody else probes for so long. */
const PROBE_MS = 10_000;
const MODELS = ['gpt-4o', 'gpt-4o-mini', 'gpt-4.1', 'gpt-4.1-mini', 'o4-mini'] as const;

test.before(async () => {
  hold.release();
  const withCoolDown = (ms: number, simulator = {}) =>
    startGateway({
      simulator,
      workers: 2,
      providers: { openai: { max_cooldown_ms: ms } },
      routes: Object.fromEntries(MODELS.map((model) => [`only-${model}`, [{ provider: 'openai', model }]])),
    });
  [gateway, brief] = await Promise.all([
    withCoolDown(3_600_000),
    withCoolDown(1_500, { latencyMs: hold.latency }),
  ]);
});
test.after.always(() => {
  hold.release();
  return Promise.all([gateway?.stop(), brief?.stop()]);
});

let asked = 0;
const ask = (model: (typeof MODELS)[number], fields: object = {}, of = gateway) =>
  of.chat({
    model: `only-${model}`,
    messages: [{ role: 'user', content: `Cool ${asked++}` }],
    ...fields,
  });
const callsOf = (model: string, of = gateway) =>
  of.simulator.calls.filter((call) => call.model === model).length;

function limit(model: string, retryAfter: string, times = 1, of = gateway): void {
  of.simulator.script({
    match: { model },
    times,
    action: { status: 429, headers: { 'retry-after': retryAfter } },
  });
}

test('a 429 that is about one request leaves the model to the others', async (t) => {
  gateway.simulator.script({
    match: { model: 'gpt-4o' },
    times: 1,
    action: {
      status: 429,
      headers: { 'retry-after': '86400' },
      body: {
        error: {
          message:
            'Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 42000.',
          type: 'tokens',
          code: 'rate_limit_exceeded',
          param: null,
        },
      },
    },
  });
  const { status, body } = await ask('gpt-4o');
  t.is(status, 413);
  t.is(body.error.code, 'request_too_large');
  t.is((await ask('gpt-4o')).status, 200);
});

test('a service tier that is short of capacity is left alone by itself', async (t) => {
  const flex = { service_tier: 'flex' };
  limit('o4-mini', '86400');
  t.is((await ask('o4-mini', flex)).status, 429);
  const calls = callsOf('o4-mini');
  await until('the api knows it', async () => {
    const { headers } = await ask('o4-mini', flex);
    return headers.get('x-gateway-attempts') === '0';
  });
  t.is((await ask('o4-mini')).status, 200);
  t.is((await ask('o4-mini', { service_tier: 'priority' })).status, 200);
  t.is(callsOf('o4-mini'), calls + 2, 'nobody called for flex');
  const { body } = await adminOf(gateway)('GET', '/cooldowns');
  t.like(
    body.data.find(({ model }: { model: string }) => model === 'o4-mini'),
    { service_tier: 'flex' },
  );
  const lifted = await adminOf(gateway)('DELETE', '/cooldowns/openai?model=o4-mini');
  t.is(lifted.body.lifted, 1);

  // A limit of the model itself holds in every tier.
  limit('o4-mini', '86400');
  t.is((await ask('o4-mini')).status, 429);
  t.is((await ask('o4-mini', flex)).status, 429);
});

test('a provider that asks for a day is probed after the maximum, one call at a time', async (t) => {
  const askBrief = () => ask('gpt-4o-mini', {}, brief);
  limit('gpt-4o-mini', '86400', 2, brief);
  const first = await askBrief();
  t.is(first.status, 429);
  t.regex(first.headers.get('retry-after') ?? '', /^[12]$/, 'what is left of the maximum, in whole seconds');
  hold.hold();
  const began = Date.now();
  const asking: Promise<unknown>[] = [];
  await until('a probe', async () => {
    const round = Promise.all(Array.from({ length: 5 }, askBrief));
    asking.push(round);
    return Promise.race([round.then(() => false), until('a call', () => hold.held.length > 0)]);
  });
  const others = await Promise.all(Array.from({ length: 4 }, askBrief));
  // After so long another one probes, and on a busy machine that can come before all have been refused.
  const mostProbes = 1 + Math.floor((Date.now() - began) / PROBE_MS);
  const probes = callsOf('gpt-4o-mini', brief) - 1;
  t.true(probes <= mostProbes, `${probes} probes`);
  t.true(others.filter(({ status }) => status !== 429).length < probes, 'the others were refused');
  hold.release();
  await Promise.all(asking);
  await until('a probe that succeeds', async () => (await askBrief()).status === 200);
  t.is(await brief.redis.hget(brief.names.coolDowns, 'openai/gpt-4o-mini'), null);
});

test('an operator sees who is cooling down, and lifts it', async (t) => {
  const admin = adminOf(gateway);
  limit('gpt-4.1-mini', '86400');
  t.is((await ask('gpt-4.1-mini')).status, 429);
  const listed = await until('it is listed', async () => {
    const { body } = await admin('GET', '/cooldowns');
    return body.data.find(({ model }: { model: string }) => model === 'gpt-4.1-mini');
  });
  t.is(listed.provider, 'openai');
  t.true(Date.parse(listed.asked_until) > Date.parse(listed.until));
  const lifted = await admin('DELETE', '/cooldowns/openai?model=gpt-4.1-mini');
  t.deepEqual(lifted.body, { object: 'cooldown', provider: 'openai', model: 'gpt-4.1-mini', lifted: 1 });
  await until('it is served', async () => (await ask('gpt-4.1-mini')).status === 200);
  t.is((await admin('DELETE', '/cooldowns/nobody')).status, 404);
});
