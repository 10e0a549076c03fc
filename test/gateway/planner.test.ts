/** A request with a deadline takes the cheapest way that is over in time: flex, a cheaper hour, or the standard tier. */
import { adminOf } from '../helpers/admin.js';
import { batchEnd, createBatch, line, toJsonl } from '../helpers/batches.js';
import { type ChatAnswer, type Gateway, startGateway } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { scrape, sumOf } from '../helpers/scrape.js';
import { sdkFor } from '../helpers/sdk.js';
import { sluiceOf } from '../helpers/sluice.js';
import { until } from '../helpers/until.js';

const FLEXIBLE = 'gpt-5-mini';
const hold = new Hold();
hold.release();
let gateway: Gateway;

test.before(async () => {
  gateway = await startGateway({
    providers: { openai: { cooldown_ms: 10 } },
    simulator: { latencyMs: hold.latency },
    routes: {
      fast: [{ provider: 'openai', model: FLEXIBLE }],
      plain: [{ provider: 'openai', model: 'gpt-4o-mini' }],
      // Nobody has called it at flex yet, so a minute is planned for that.
      fresh: [{ provider: 'openai', model: 'gpt-5-nano' }],
    },
  });
});
test.after.always(async () => {
  hold.release();
  await gateway?.stop();
});

const send = (text: string, deadline: string, body: Record<string, unknown> = {}): Promise<ChatAnswer> =>
  gateway.chat(
    { model: 'fast', messages: [{ role: 'user', content: text }], ...body },
    { headers: { prefer: 'respond-async', 'x-gateway-deadline': deadline } },
  );

/** How it ended, by the log, and the tiers that were asked for. */
async function run(text: string, deadline: string, body: Record<string, unknown> = {}) {
  const accepted = await send(text, deadline, body);
  if (accepted.status !== 202) throw new Error(JSON.stringify(accepted.body));
  return ended(accepted.body.id, text);
}

async function ended(id: string, text: string) {
  const entry = await until('its end', async () =>
    (await gateway.log()).find((each) => `req_${each.id}` === id),
  );
  return { entry, tiers: tiersOf(text) };
}

const tiersOf = (text: string) =>
  gateway.simulator.calls
    .filter(({ body }) => JSON.stringify(body).includes(text))
    .map(({ body }) => (body as { service_tier?: string }).service_tier);

test.serial(
  'a request that has time is called at flex, and the log says what the standard tier would have cost',
  async (t) => {
    const { entry, tiers } = await run('has hours', '6h');
    t.deepEqual(tiers, ['flex']);
    t.like(entry, { code: null, plan: { via: 'flex' }, attempts: { 0: { tier: 'flex', outcome: 'ok' } } });
    t.is(entry.served?.price?.tier, 'flex');
    t.is((entry.plan?.standardCost ?? 0) / (entry.served?.cost ?? 1), 2);
    t.true((entry.plan?.deadline ?? 0) > entry.settledAt);
  },
);

test.serial('a refused flex call is made again, and costs nothing', async (t) => {
  gateway.simulator.script({
    match: { textIncludes: 'refused twice' },
    times: 2,
    action: { noFlexCapacity: true },
  });
  const { entry, tiers } = await run('refused twice', '6h');
  t.deepEqual(tiers, ['flex', 'flex', 'flex']);
  t.deepEqual(
    entry.attempts.map(({ outcome, tier }) => `${outcome} ${tier}`),
    ['rate_limited flex', 'rate_limited flex', 'ok flex'],
  );
  t.is(entry.plan?.via, 'flex');
  t.is((await gateway.log()).filter(({ id }) => id === entry.id).length, 1);
});

test.serial('a request whose latest safe start comes is called at the standard tier, in time', async (t) => {
  gateway.simulator.script({ match: { textIncludes: 'never flex' }, action: { noFlexCapacity: true } });
  const { body } = await send('never flex', '6h');
  const jobId = `${body.id.slice(4)}-0`;
  const jobKey = gateway.names.queueKey('openai', jobId);
  await until(
    'it is put off',
    async () => (await gateway.redis.zscore(gateway.names.queueKey('openai', 'delayed'), jobId)) ?? undefined,
  );
  // It was sent five hours and 59 minutes ago.
  const job = JSON.parse((await gateway.redis.hget(jobKey, 'data')) ?? '');
  const passed = 359 * 60_000;
  await gateway.redis.hset(
    jobKey,
    'data',
    JSON.stringify({ ...job, acceptedAt: job.acceptedAt - passed, deadline: job.deadline - passed }),
  );
  const { entry } = await ended(body.id, 'never flex');
  t.is(entry.plan?.via, 'standard');
  t.is(entry.code, null);
  t.is(tiersOf('never flex').at(-1), undefined);
  t.true(tiersOf('never flex').includes('flex'));
});

test.serial(
  'a model without flex, a tier that the caller names, and little time mean the standard tier at once',
  async (t) => {
    t.deepEqual((await run('no flex there', '6h', { model: 'plain' })).tiers, [undefined]);
    const named = await run('named', '6h', { service_tier: 'priority' });
    t.deepEqual(named.tiers, ['priority']);
    const short = await run('little time', '50s', { model: 'fresh' });
    t.deepEqual(short.tiers, [undefined]);
    t.like(short.entry, { code: null, plan: { via: 'standard' } });
    t.deepEqual((await run('much time', '6h', { model: 'fresh' })).tiers, ['flex']);
  },
);

test.serial('a model that turns out to have no flex is called at the standard tier', async (t) => {
  gateway.simulator.script({
    match: { textIncludes: 'no flex after all' },
    times: 1,
    action: {
      status: 400,
      body: {
        error: {
          message: 'Invalid service_tier argument',
          type: 'invalid_request_error',
          param: 'service_tier',
          code: null,
        },
      },
    },
  });
  const { entry, tiers } = await run('no flex after all', '6h');
  t.deepEqual(tiers, ['flex', undefined]);
  t.is(entry.plan?.via, 'standard');
});

test.serial('a request waits for a cheaper hour that begins before its latest safe start', async (t) => {
  const soon = new Date(Date.now() + 3 * 3_600_000);
  const at = (date: Date) => date.toISOString().slice(11, 16);
  const prices = { input: 10, output: 10 };
  const { status, body } = await adminOf(gateway)('PUT', '/models/openai/gpt-4o-mini', {
    prices,
    time_bands: [
      { from: at(soon), to: at(new Date(soon.getTime() + 3_600_000)), prices: { input: 1, output: 1 } },
    ],
  });
  t.true(status < 300, JSON.stringify(body));
  const delayedKey = gateway.names.queueKey('openai', 'delayed');
  // A worker learns of a price within a second or so. Until then requests are served.
  const { id, due } = await until('one is put off', async () => {
    const { body } = await send('waits for the night', '8h', { model: 'plain' });
    const isServed = async () => (await gateway.log()).some((each) => `req_${each.id}` === body.id);
    const seen = await until('it is served or put off', async () =>
      (await isServed())
        ? 'served'
        : ((await gateway.redis.zscore(delayedKey, `${body.id.slice(4)}-0`)) ?? undefined),
    );
    return seen !== 'served' && { id: body.id as string, due: Number(seen) };
  });
  t.is(at(new Date(Math.floor(due / 0x1000))), at(soon));
  const ask = (path = '', method = 'GET') =>
    fetch(`${gateway.url}/v1/requests/${id}${path}`, {
      method,
      headers: { authorization: `Bearer ${gateway.key}` },
    });
  const waiting = (await (await ask()).json()) as { expected_at: number };
  t.like(waiting, { status: 'in_progress', place: null });
  t.true(waiting.expected_at >= Math.floor(due / 0x1000 / 1_000), 'it is expected after its hour has come');
  t.like(await (await ask('/cancel', 'POST')).json(), { status: 'cancelled' });
  t.is(await gateway.redis.zcard(delayedKey), 0);
  await adminOf(gateway)('DELETE', '/models/openai/gpt-4o-mini');
});

test.serial('the lines of a batch have the time of its window', async (t) => {
  const client = sdkFor(gateway);
  gateway.simulator.script({ match: { textIncludes: 'short of flex' }, action: { noFlexCapacity: true } });
  const lines = ['one', 'two'].map((text) => line(text, `batch ${text}`));
  const batch = await createBatch(client, toJsonl(lines));
  const done = await batchEnd(client, batch.id);
  t.like(done, { status: 'completed', request_counts: { completed: 2 } });
  for (const text of ['batch one', 'batch two']) t.deepEqual(tiersOf(text), ['flex'], text);
  const entries = (await gateway.log()).filter(({ plan, priority }) => plan && priority === 'background');
  t.true(entries.filter(({ plan }) => plan?.via === 'flex').length >= 2);

  // A line that waits for flex ends with its batch.
  const waiting = await createBatch(client, toJsonl([line('late', 'short of flex')]));
  await until('its call', () => tiersOf('short of flex').length > 0);
  await client.batches.cancel(waiting.id);
  t.like(await batchEnd(client, waiting.id), {
    status: 'cancelled',
    request_counts: { total: 1, failed: 1 },
  });
});

test.serial('what was put off, saved and missed is counted', async (t) => {
  const samples = await scrape(gateway.workers[0] as Gateway['workers'][number]);
  t.is(sumOf(samples, 'gateway_deadline_requests_total', { via: 'flex', result: 'in_time' }), 5);
  t.is(sumOf(samples, 'gateway_deadline_requests_total', { result: 'missed' }), 0);
  t.true((sumOf(samples, 'gateway_deadline_put_off_total', { provider: 'openai', tier: 'flex' }) ?? 0) >= 3);
  t.true((sumOf(samples, 'gateway_saved_usd_total', { workspace: 'demo' }) ?? 0) > 0);
});

test.serial('the log, the savings of the workspace and the console’s figures agree', async (t) => {
  const admin = adminOf(gateway);
  const planned = (await gateway.log()).filter(({ plan }) => plan);
  const sum = (costs: (number | undefined)[]) =>
    costs.reduce<number>((total, cost) => total + (cost ?? 0), 0);
  const [cost, standard] = [
    sum(planned.map(({ served }) => served?.cost)),
    sum(planned.map(({ served, plan }) => served && (plan?.standardCost ?? served.cost))),
  ];
  const { body } = await admin('GET', '/savings');
  const { out } = await sluiceOf(gateway)('savings');
  t.true(out.includes(body.data[0].saved_usd), out);
  t.is(body.data.length, 1);
  const [saving] = body.data;
  t.like(saving, { workspace: 'demo', requests: planned.length, missed: 0 });
  t.is(saving.saved_usd, ((standard - cost) / 1e12).toFixed(6));
  t.true(Number(saving.saved_usd) > 0);
  const flexed = planned.find(({ plan }) => plan?.via === 'flex');
  const shown = (await admin('GET', `/requests/${flexed?.id}`)).body;
  t.like(shown, { plan: { via: 'flex', missed: false }, attempts: { 0: { tier: 'flex' } } });
  t.true(Number(shown.plan.standard_usd) > Number(shown.cost_usd));
});
