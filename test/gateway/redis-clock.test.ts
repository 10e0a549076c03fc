/** Redis' clock is set back, a little or by hours, after it was wrong or because another Redis has taken over. */
import type { ProcessInfo } from '@sluice/shared/process/presence';
import { SLOT_MS } from '@sluice/shared/queue/scripts';
import { adminOf } from '../helpers/admin.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

const HOURS = 5 * 3_600_000;
const PER_MINUTE = { requests_per_minute: 2, when_full: 'refuse' };
/** A process that stands still for seconds must not end a wait: the cell's time is moved by more than a wait lasts otherwise. */
const own = {
  kind: 'openai',
  base_url: '${OPENAI_BASE_URL}',
  api_key: '${OPENAI_API_KEY}',
  max_wait_ms: 280_000,
};
const alone = (provider: string) => ({ [provider]: [{ provider, model: 'gpt-4o-mini' }] });

const open: Gateway[] = [];
async function start(simulator = {}): Promise<Gateway> {
  const gateway = await startGateway({
    providers: {
      quick: { ...own, limits: { requests_per_minute: 60 } },
      slow: { ...own, limits: { requests_per_minute: 1 } },
      keyed: { ...own, keys: [{ name: 'a', api_key: '${OPENAI_API_KEY}' }] },
      tokens: { ...own, limits: { tokens_per_minute: 10_000 } },
      broken: { ...own, circuit_failures: 1, circuit_open_ms: 3_600_000 },
    },
    routes: Object.assign({}, ...['quick', 'slow', 'keyed', 'tokens', 'broken', 'openai'].map(alone)),
    workspaces: { tight: { routes: alone('openai'), limits: PER_MINUTE } },
    simulator,
  });
  open.push(gateway);
  return gateway;
}
test.after.always(() => Promise.all(open.map((gateway) => gateway.stop())));

const ask = (gateway: Gateway, model: string, key = gateway.key) =>
  gateway.chat({ model, messages: [{ role: 'user', content: 'What time is it?' }] }, { key });

const usedOf = async (gateway: Gateway, provider: string) => {
  const { body } = await adminOf(gateway)('GET', '/providers');
  return body.data.find(({ name }: { name: string }) => name === provider).limits[0].used;
};

/** Moves every moment that Redis has ahead: as if its clock had been ahead until now. */
async function setClockBack(gateway: Gateway, ms: number): Promise<void> {
  const { redis, names } = gateway;
  const slots = ms / SLOT_MS;
  const moved = `
local ms, slots = tonumber(ARGV[1]), tonumber(ARGV[2])
local function later(number, by) return string.format('%.0f', number + by) end
for i = 2, #KEYS do
  local type = redis.call('TYPE', KEYS[i]).ok
  if type == 'list' then
    for j, moment in ipairs(redis.call('LRANGE', KEYS[i], 0, -1)) do redis.call('LSET', KEYS[i], j - 1, later(moment, ms)) end
  elseif type == 'zset' then
    for _, member in ipairs(redis.call('ZRANGE', KEYS[i], 0, -1)) do redis.call('ZINCRBY', KEYS[i], ms, member) end
  else
    local fields = redis.call('HGETALL', KEYS[i])
    redis.call('DEL', KEYS[i])
    for j = 1, #fields, 2 do
      local field, value = fields[j], fields[j + 1]
      if tonumber(field) then field = later(field, slots)
      elseif field == 'f' then value = later(value, slots)
      elseif field == 'p' or string.find(field, '^until') or tonumber(value) and tonumber(value) > 1e12 then value = later(value, ms) end
      redis.call('HSET', KEYS[i], field, value)
    end
  end
end
local latest, at = string.match(redis.call('GET', KEYS[1]), '^(%d+) (%d+)$')
redis.call('SET', KEYS[1], later(latest, ms) .. ' ' .. later(at, ms))
`;
  const queues = ['quick', 'slow', 'keyed', 'tokens'].flatMap((name) =>
    ['limit:r', 'limit:t', 'due', 'pool'].map((key) => names.queueKey(name, key)),
  );
  for (const jobId of await redis.lrange(names.queueKey('tokens', 'active'), 0, -1))
    await redis.hincrby(names.queueKey('tokens', jobId), 'slot', slots);
  const others = [names.requestTimes('tight'), names.circuit('broken'), names.coolDowns];
  const keys: string[] = [];
  for (const key of [...queues, ...others]) if (await redis.exists(key)) keys.push(key);
  await redis.eval(moved, keys.length + 1, names.clock, ...keys, ms, slots);
  await untilKnown(gateway);
}

/** All processes know the time. */
async function untilKnown(gateway: Gateway): Promise<void> {
  const { redis, names } = gateway;
  await until('all processes know the time', async () => {
    const { latest } = await timeOf(gateway);
    const known = Object.values(await redis.hgetall(names.processes)).map((text) => JSON.parse(text).seenAt);
    return known.every((seenAt) => Math.abs(seenAt - latest) < 30_000);
  });
}

async function timeOf({ redis, names }: Gateway) {
  const [latest = 0, at = 0] = ((await redis.get(names.clock)) ?? '').split(' ').map(Number);
  return { latest, leadMs: latest - at };
}

/** The cell's time goes on, and nobody has to wait for it. */
async function pass(gateway: Gateway, ms: number): Promise<void> {
  const { redis, names } = gateway;
  const moved = `
local latest, at = string.match(redis.call('GET', KEYS[1]), '^(%d+) (%d+)$')
redis.call('SET', KEYS[1], string.format('%.0f', latest + ARGV[1]) .. ' ' .. at)
`;
  await redis.eval(moved, 1, names.clock, ms);
  // A worker waits by its own clock until a limit has room.
  await redis.zadd(names.queueKey('slow', 'marker'), 0, '0');
  await untilKnown(gateway);
}

for (const [by, ms] of [
  ['two minutes', 120_000],
  ['hours', HOURS],
] as const) {
  test(`a provider with a limit per minute serves on when the clock is set back by ${by}, and all calls count`, async (t) => {
    const gateway = await start();
    for (let i = 0; i < 3; i++) t.is((await ask(gateway, 'quick')).status, 200);
    await setClockBack(gateway, ms);
    t.is((await ask(gateway, 'quick')).status, 200);
    await until('the api has heard of the time', async () => (await usedOf(gateway, 'quick')) === 4);
    await pass(gateway, 63_000);
    t.is((await ask(gateway, 'quick')).status, 200);
    await until('only the last call counts', async () => (await usedOf(gateway, 'quick')) === 1);
  });

  test(`requests that wait for a limit are served when the clock is set back by ${by}`, async (t) => {
    const gateway = await start();
    t.is((await ask(gateway, 'slow')).status, 200);
    const answers = Promise.all([ask(gateway, 'slow'), ask(gateway, 'slow')]);
    await until('two wait', async () => (await gateway.backlog('slow')) === 2);
    await setClockBack(gateway, ms);
    await pass(gateway, 0);
    await until('a worker has looked', async () => {
      const first = await gateway.redis.hget(gateway.names.queueKey('slow', 'limit:r'), 'f');
      return Number(first) * SLOT_MS <= (await timeOf(gateway)).latest;
    });
    t.is(await gateway.backlog('slow'), 2);
    await pass(gateway, 63_000);
    await until('one is served', async () => (await gateway.backlog('slow')) === 1);
    await pass(gateway, 63_000);
    for (const { status } of await answers) t.is(status, 200);
  });

  test(`a workspace has its requests a minute, and no more, when the clock is set back by ${by}`, async (t) => {
    const gateway = await start();
    const send = () => ask(gateway, 'openai', gateway.keys.tight);
    for (let i = 0; i < PER_MINUTE.requests_per_minute; i++) t.is((await send()).status, 200);
    await setClockBack(gateway, ms);
    const refused = await send();
    t.is(refused.status, 429);
    const retryAfter = Number(refused.headers.get('retry-after'));
    // The seconds are rounded up, and a clock that is held back may be a few ms behind the requests.
    t.true(retryAfter > 0 && retryAfter <= 61, String(retryAfter));
    await pass(gateway, 61_000);
    await until('it is served', async () => (await send()).status === 200);
  });
}

test('a call that began by a clock that was hours ahead gives back what it has not used, and no more', async (t) => {
  const hold = new Hold();
  const gateway = await start({ latencyMs: hold.latency });
  const answer = ask(gateway, 'tokens');
  await until('the call', () => hold.held.length === 1);
  const reserved = await usedOf(gateway, 'tokens');
  await setClockBack(gateway, HOURS);
  const later = ask(gateway, 'tokens');
  await until('another call', () => hold.held.length === 2);
  t.is(await usedOf(gateway, 'tokens'), 2 * reserved);
  hold.release();
  for (const { status } of await Promise.all([answer, later])) t.is(status, 200);
  const used = await usedOf(gateway, 'tokens');
  t.true(used > 0 && used < reserved, `${used} of ${reserved}`);
  await pass(gateway, 63_000);
  t.is((await ask(gateway, 'tokens')).status, 200);
  await until('only the last call counts', async () => (await usedOf(gateway, 'tokens')) === used / 2);
});

test('what was left alone by a clock that was hours ahead is not left alone for hours', async (t) => {
  const gateway = await start();
  const { redis, names, simulator } = gateway;
  simulator.script({ times: 1, action: { status: 500 } });
  t.is((await ask(gateway, 'broken')).status, 502);
  t.is((await ask(gateway, 'broken')).status, 503);
  const limited = { status: 429, headers: { 'retry-after': '300' } };
  for (const model of ['openai', 'keyed']) {
    simulator.script({ times: 1, action: limited });
    t.is((await ask(gateway, model)).status, 429);
  }
  t.is((await ask(gateway, 'openai')).status, 429);
  const dead: Partial<ProcessInfo> = { id: 'dead', role: 'worker', problems: [], seenAt: Date.now() + HOURS };
  await redis.hset(names.processes, 'dead', JSON.stringify(dead));

  // Until the dead one is forgotten, too.
  await setClockBack(gateway, HOURS);
  for (const model of ['broken', 'openai', 'keyed'])
    await until(`${model} serves`, async () => (await ask(gateway, model)).status === 200);
  t.is(await redis.hlen(names.coolDowns), 0);
});

test('the cell’s time goes on when the clock is set back, and comes back to it slowly', async (t) => {
  const gateway = await start();
  const { latest } = await timeOf(gateway);
  await setClockBack(gateway, 120_000);
  const first = await until('it goes on', async () => {
    const now = await timeOf(gateway);
    return now.leadMs > 0 && now;
  });
  t.true(first.latest >= latest + 120_000);
  const second = await until('it comes back', async () => {
    const now = await timeOf(gateway);
    return now.leadMs < first.leadMs && now;
  });
  // About a tenth of the time is lost.
  const [passed, lost] = [second.latest - first.latest, first.leadMs - second.leadMs];
  t.true(passed > 0 && lost < passed / 2, `${lost} of ${passed}`);
});

test('the cell’s time does not leap when a clock that was set back is put right', async (t) => {
  const gateway = await start();
  const { redis, names } = gateway;
  // Two minutes ahead of a clock that was two minutes behind: the time is true, and the clock has leapt since then.
  const [seconds] = await redis.time();
  const now = Number(seconds) * 1000;
  await redis.set(names.clock, `${now} ${now - 120_000}`);
  const later = await until('somebody has read the time', async () => {
    const time = await timeOf(gateway);
    return time.latest > now && time;
  });
  t.true(later.leadMs < 15_000, `${later.leadMs} ms ahead`);
});
