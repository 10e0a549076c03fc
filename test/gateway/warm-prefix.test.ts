/** Prompts that begin alike go where their beginning is cached, and the first of them goes ahead. */
import type OpenAI from 'openai';
import { adminOf } from '../helpers/admin.js';
import { batchEnd, createBatch, type Line, toJsonl } from '../helpers/batches.js';
import { type Gateway, startProcesses } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { sdkFor } from '../helpers/sdk.js';
import { until } from '../helpers/until.js';

const hold = new Hold();
const NAMES = ['a', 'b', 'c', 'd'];
const key = (name: string) => ({ name, api_key: `\${POOL_${name.toUpperCase()}}` });
let gateway: Gateway;
let client: OpenAI;

test.before(async () => {
  const own = { kind: 'openai', base_url: `\${OPENAI_BASE_URL}` };
  const entry = (provider: string) => ({ provider, model: 'gpt-4o-mini' });
  const warm = { warm_prefix_tokens: 2_000 };
  gateway = await startProcesses({
    providers: {
      pool: { ...own, keys: NAMES.map(key), max_wait_ms: 120_000 },
      narrow: {
        ...own,
        max_wait_ms: 120_000,
        keys: NAMES.map((name) => ({ ...key(name), limits: { requests_per_minute: 2 } })),
      },
      left: { ...own, api_key: `\${POOL_A}` },
      right: { ...own, api_key: `\${POOL_B}` },
      hasty: { ...own, api_key: `\${POOL_A}`, timeout_ms: 1_000 },
    },
    routes: {
      warm: { chain: [entry('pool')], ...warm },
      cold: [entry('pool')],
      flexible: { chain: [{ provider: 'pool', model: 'gpt-5-mini' }], ...warm },
      narrow: { chain: [entry('narrow')], ...warm },
      group: { chain: [{ one_of: [entry('left'), entry('right')] }], ...warm },
      hasty: { chain: [entry('hasty')], ...warm },
      claude: { chain: [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }], ...warm },
    },
    simulator: { latencyMs: hold.latency, caches: {} },
    env: Object.fromEntries(NAMES.map((name) => [`POOL_${name.toUpperCase()}`, `sk-${name}`])),
  });
  client = sdkFor(gateway, { maxRetries: 0 });
});
test.beforeEach(() => {
  hold.release();
  gateway.simulator.reset();
  hold.hold();
});
test.after.always(() => {
  hold.release();
  return gateway?.stop();
});

/** About 3,000 tokens that no other test has. */
const beginning = (what: string) => `${what}. ${'The harvest of that year was good. '.repeat(350)}`;
const messages = (what: string, text: string) => [
  { role: 'system' as const, content: beginning(what) },
  { role: 'user' as const, content: text },
];
const linesOf = (model: string, what: string, count: number): Line[] =>
  Array.from({ length: count }, (_, i) => ({
    custom_id: `${what}-${i}`,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model, messages: messages(what, `question ${i}`) },
  }));
const keysOf = () => new Set(gateway.simulator.calls.map(({ headers }) => headers?.authorization));
const held = (count: number) => until(`${count} calls`, () => hold.held.length >= count);
const parked = async (provider: string) =>
  gateway.redis.zcard(gateway.names.queueKey(provider, 'prioritized'));
const begin = async (lines: Line[]) => (await createBatch(client, toJsonl(lines))).id;
const endOf = async (id: string) => {
  hold.release();
  const { request_counts: counts, usage } = await batchEnd(client, id);
  return { counts, usage };
};

test.serial('the first line of a prefix goes ahead, and the others follow it to its key', async (t) => {
  const id = await begin(linesOf('warm', 'ahead', 12));
  await held(1);
  await until('the other lines to wait', async () => (await parked('pool')) === 11);
  t.is(gateway.simulator.calls.length, 1);
  hold.held.shift()?.release();
  await held(11);
  const { counts, usage } = await endOf(id);
  t.deepEqual(counts, { total: 12, completed: 12, failed: 0 });
  t.is(keysOf().size, 1);
  const { cached_tokens: cached } = usage?.input_tokens_details ?? { cached_tokens: 0 };
  t.true(cached / (usage?.input_tokens ?? 1) > 0.8, `${cached} of ${usage?.input_tokens}`);
});

test.serial('lines of another route, and of other prefixes, do not wait for them', async (t) => {
  const one = await begin(linesOf('warm', 'one', 2));
  await held(1);
  const other = await begin([...linesOf('warm', 'other', 1), ...linesOf('cold', 'one', 2)]);
  await held(4);
  t.is(gateway.simulator.calls.length, 4);
  hold.release();
  await Promise.all([endOf(one), endOf(other)]);
});

test.serial('lines that wait do not hold up those of other prefixes', async (t) => {
  // Four of them would fill the lines that a batch has in flight.
  const prefixes = Array.from({ length: 8 }, (_, i) => linesOf('warm', `prefix ${i}`, 8));
  const id = await begin(prefixes.flat());
  await held(8);
  t.is(gateway.simulator.calls.length, 8);
  t.deepEqual((await endOf(id)).counts, { total: 64, completed: 64, failed: 0 });
  t.is(gateway.simulator.calls.length, 64);
});

test.serial('a caller who waits for the answer does not wait for the first', async (t) => {
  const inBackground = { headers: { prefer: 'respond-async' } };
  const ask = (text: string, init = {}) =>
    gateway.chat({ model: 'warm', messages: messages('hurry', text) }, init);
  await ask('first', inBackground);
  await held(1);
  await ask('second', inBackground);
  await until('the second to wait', async () => (await parked('pool')) === 1);
  const answer = ask('now');
  await held(2);
  t.is(await parked('pool'), 1);
  // What it has written to the cache is there for the one that waits, too.
  hold.held.pop()?.release();
  t.is((await answer).status, 200);
  await held(2);
  t.is(gateway.simulator.calls.length, 3);
  hold.release();
});

test.serial('a request in the background waits for the first, also by a prompt_cache_key', async (t) => {
  const ask = (text: string) =>
    gateway.chat(
      { model: 'cold', prompt_cache_key: 'mine', messages: messages(text, text) },
      { headers: { prefer: 'respond-async' } },
    );
  t.is((await ask('one')).status, 202);
  await held(1);
  t.is((await ask('two')).status, 202);
  await until('the second to wait', async () => (await parked('pool')) === 1);
  hold.held.shift()?.release();
  await held(1);
  t.is(gateway.simulator.calls.length, 2);
  t.is(keysOf().size, 1);
  hold.release();
});

test.serial('requests with a deadline wait for the first of them, and for no second call', async (t) => {
  const later = { headers: { prefer: 'respond-async', 'x-gateway-deadline': '6h' } };
  const ask = (text: string) => gateway.chat({ model: 'flexible', messages: messages('later', text) }, later);
  const tiers = () =>
    gateway.simulator.calls.map(({ body }) => (body as { service_tier?: string }).service_tier);
  for (const text of ['one', 'two', 'three', 'four']) t.is((await ask(text)).status, 202);
  await held(1);
  await until('the others to wait', async () => (await parked('pool')) === 3);
  t.is(gateway.simulator.calls.length, 1);
  hold.held.shift()?.release();
  await held(3);
  t.deepEqual(tiers(), ['flex', 'flex', 'flex', 'flex']);
  t.is(keysOf().size, 1);
  hold.release();
  await until('all to end', async () => (await gateway.log()).filter(({ plan }) => plan).length === 4);
});

test.serial(
  'when flex refuses the first of those with a deadline, the others do not wait for it',
  async (t) => {
    const planned = async () => (await gateway.log()).filter(({ plan }) => plan);
    const before = (await planned()).length;
    gateway.simulator.script({ times: 1, action: { noFlexCapacity: true } });
    const later = { headers: { prefer: 'respond-async', 'x-gateway-deadline': '6h' } };
    for (const text of ['one', 'two', 'three'])
      await gateway.chat({ model: 'flexible', messages: messages('refused', text) }, later);
    await held(1);
    await until('the others to wait', async () => (await parked('pool')) === 2);
    hold.held.shift()?.release();
    await held(2);
    const { body } = await adminOf(gateway)('GET', '/providers');
    const { keys } = body.data.find(({ name }: { name: string }) => name === 'pool');
    t.true(
      keys.every(({ state }: { state: string }) => state === 'open'),
      'flex has no capacity, and nothing is wrong with a key',
    );
    hold.release();
    const all = await until('all to end', async () => {
      const found = (await planned()).slice(before);
      return found.length === 3 && found;
    });
    t.true(all.every(({ code, plan }) => code === null && plan?.via === 'flex'));
    t.is(gateway.simulator.calls.length, 4);
  },
);

test.serial('when the first fails, the others go on together', async (t) => {
  gateway.simulator.script({ times: 1, action: { status: 400 } });
  const id = await begin(linesOf('warm', 'fails', 6));
  await held(1);
  await until('the others to wait', async () => (await parked('pool')) === 5);
  hold.held.shift()?.release();
  await held(5);
  t.deepEqual((await endOf(id)).counts, { total: 6, completed: 5, failed: 1 });
});

test.serial('when the worker of the first dies, nothing is lost', async (t) => {
  const id = await begin(linesOf('warm', 'dies', 6));
  await held(1);
  await until('the others to wait', async () => (await parked('pool')) === 5);
  await gateway.workers.shift()?.end('SIGKILL');
  await gateway.addWorker();
  hold.held.shift();
  await held(1);
  t.is(gateway.simulator.calls.length, 2);
  t.deepEqual((await endOf(id)).counts, { total: 6, completed: 6, failed: 0 });
});

test.serial('a first that takes too long is not waited for', async (t) => {
  const id = await begin(linesOf('hasty', 'slow', 4));
  await until('the others to be called', () => gateway.simulator.calls.length >= 4);
  hold.release();
  t.is((await endOf(id)).counts?.total, 4);
});

test.serial('a group keeps prompts that begin alike together, at the member that served last', async (t) => {
  hold.release();
  const ask = async (text: string) => {
    const { status, headers } = await gateway.chat({ model: 'group', messages: messages('group', text) });
    t.is(status, 200);
    return headers.get('x-gateway-provider');
  };
  const first = await ask('1');
  for (const text of ['2', '3', '4', '5', '6', '7', '8']) t.is(await ask(text), first);
  // The member fails once, and the other one serves. From then on it is the warm one.
  gateway.simulator.script({ times: 1, action: { status: 500 } });
  const other = await ask('9');
  t.not(other, first);
  for (const text of ['10', '11', '12']) t.is(await ask(text), other);
});

test.serial('a key whose turn it is not serves no prompt that is warm at another', async (t) => {
  hold.release();
  for (let i = 0; i < 8; i++)
    t.is((await gateway.chat({ model: 'warm', messages: messages('pool', String(i)) })).status, 200);
  t.is(keysOf().size, 1);
  gateway.simulator.reset();
  for (let i = 0; i < 8; i++)
    t.is((await gateway.chat({ model: 'cold', messages: messages('pool', String(i)) })).status, 200);
  t.true(keysOf().size > 1);
});

test.serial('a warm key whose limit is used up leaves the others to serve', async (t) => {
  hold.release();
  for (let i = 0; i < 4; i++)
    t.is((await gateway.chat({ model: 'narrow', messages: messages('narrow', String(i)) })).status, 200);
  t.is(keysOf().size, 2);
});

test.serial('Anthropic’s cache is read by its marks, and its price is booked', async (t) => {
  const marked = (i: number) => [
    {
      role: 'system',
      content: [{ type: 'text', text: beginning('claude'), cache_control: { type: 'ephemeral' } }],
    },
    { role: 'user', content: `question ${i}` },
  ];
  const lines = linesOf('claude', 'claude', 8).map((line, i) => ({
    ...line,
    body: { model: 'claude', max_tokens: 50, messages: marked(i) },
  }));
  const id = await begin(lines);
  await held(1);
  hold.held.shift()?.release();
  await held(7);
  const { usage } = await endOf(id);
  t.true((usage?.input_tokens_details.cached_tokens ?? 0) / (usage?.input_tokens ?? 1) > 0.8);
  const { body } = await adminOf(gateway)('GET', '/spend?by=route&since=1d');
  const row = body.data.find(({ route }: { route: string }) => route === 'claude');
  t.true(row.cached_input_tokens > 6 * row.cache_write_tokens, JSON.stringify(row));
});

test.serial(
  'a request that asks for nothing leaves no trace of its prefix, and those that do are bounded',
  async (t) => {
    hold.release();
    const { redis, names } = gateway;
    const prefixes = names.prefixes('demo');
    await redis.del(prefixes, `${prefixes}:order`);
    await gateway.chat({ model: 'cold', messages: messages('none', 'x') });
    await gateway.chat({ model: 'warm', messages: [{ role: 'user', content: 'short' }] });
    t.is(await redis.exists(prefixes), 0);
    for (let i = 0; i < 1_000; i++) await redis.hset(prefixes, `old-${i}`, 's 1  x');
    for (let i = 0; i < 1_000; i++) await redis.zadd(`${prefixes}:order`, i, `old-${i}`);
    await gateway.chat({ model: 'warm', messages: messages('new', 'x') });
    t.is(await redis.hlen(prefixes), 1_000);
    t.is(await redis.hexists(prefixes, 'old-0'), 0);
    t.true((await redis.pttl(prefixes)) > 0);
    const record = (await redis.hvals(prefixes)).find((each) => each.includes('pool/'));
    t.regex(record ?? '', /^s \d+ [a-d] pool\/gpt-4o-mini$/);
    const stored = JSON.stringify(await redis.hgetall(prefixes));
    t.false(stored.includes('harvest'));
  },
);
