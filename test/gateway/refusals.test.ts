/** What a workspace is refused beyond a rate is counted, and logged in one entry. */
import { Refusals } from '@sluice/shared/queue/refusals';
import type { LogEntry } from '@sluice/shared/queue/request-log';
import { adminOf, type CallAdmin } from '../helpers/admin.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { sluiceOf } from '../helpers/sluice.js';
import { until } from '../helpers/until.js';

const SOLO = { solo: [{ provider: 'openai', model: 'gpt-4o-mini' }] };
const ONE_BY_ONE = 3;
const MINUTE_MS = 60_000;
const limits = { requests_per_minute: 1 };
let gateway: Gateway;
let admin: CallAdmin;
let refusals: Refusals;

test.before(async () => {
  gateway = await startGateway({
    apis: 2,
    requestLog: { max_refusals_per_minute: ONE_BY_ONE },
    routes: SOLO,
    workspaces: {
      loud: { routes: SOLO, limits },
      erased: { routes: SOLO, limits },
      third: { routes: SOLO },
      lost: { limits },
    },
  });
  admin = adminOf(gateway);
  refusals = new Refusals(gateway.redis, gateway.names);
});
test.after.always(() => gateway?.stop());

/** Sends so many at once, by turns to each api process; tells how many were refused. */
async function flood(workspace: string, requests: number): Promise<number> {
  const body = { model: 'solo', messages: [{ role: 'user', content: 'again' }] };
  const answers = await Promise.all(
    Array.from({ length: requests }, (_, i) =>
      gateway.chat(body, { key: gateway.keys[workspace] ?? '', url: gateway.urls[i % 2] ?? '' }),
    ),
  );
  return answers.filter(({ status, body }) => status === 429 && body.error.code === 'rate_limited').length;
}

async function refusedEntries(workspace: string): Promise<LogEntry[]> {
  return (await gateway.log()).filter((entry) => entry.workspace === workspace && entry.status === 429);
}

const sum = (counts: readonly number[]) => counts.reduce((a, b) => a + b, 0);

test.serial('requests for a model that is not there count among those of a minute', async (t) => {
  const ask = () =>
    gateway.chat(
      { model: 'no-such-model', messages: [{ role: 'user', content: 'Hi' }] },
      { key: gateway.keys.lost ?? '' },
    );
  t.is((await ask()).status, 404);
  const second = await ask();
  t.is(second.status, 429);
  t.is(second.body.error.code, 'rate_limited');
});

test.serial('each refusal is logged or counted once, also when an api process dies', async (t) => {
  const refused = await flood('loud', 60);
  t.true(refused >= 58, 'a minute may end meanwhile');
  const alone = (await refusedEntries('loud')).filter(({ count }) => count === undefined);
  // Of each of two processes, in each of the minutes that the flood may have touched.
  t.true(alone.length >= 2 * ONE_BY_ONE && alone.length <= 4 * ONE_BY_ONE, `${alone.length} entries`);
  await gateway.apis[1]?.end('SIGKILL');

  const later = Date.now() + 2 * MINUTE_MS;
  await refusals.log(later);
  t.is(await refusals.log(later), 0, 'nothing is logged twice');
  const entries = await refusedEntries('loud');
  t.is(sum(entries.map(({ count = 1 }) => count)), refused);
  const together = entries.filter(({ count }) => count !== undefined);
  t.true(together.length === 1 || together.length === 2, `${together.length} entries for the others`);
  for (const { acceptedAt, lastAt = 0, code, attempts } of together) {
    t.true(lastAt >= Math.floor(acceptedAt));
    t.is(code, 'rate_limited');
    t.deepEqual(attempts, []);
  }
  t.is(new Set(entries.map(({ id }) => id)).size, entries.length);
});

test.serial('the count is in the admin api, the traffic, the export and the command line', async (t) => {
  const entries = await refusedEntries('loud');
  const { count = 0, id } = entries.at(-1) ?? {};
  const { body } = await admin('GET', '/requests?workspace=loud&status=429');
  t.is(body.data[0].id, `req_${id}`);
  t.is(body.data[0].count, count);
  t.true(body.data[0].last_at >= body.data[0].settled_at);
  t.is(body.data.at(-1).count, 1);
  t.is((await admin('GET', `/requests/req_${id}`)).body.count, count);
  const traffic = await admin('GET', '/traffic');
  const all = await gateway.log();
  t.is(traffic.body.requests, sum(all.map(({ count: each = 1 }) => each)));
  const { out } = await sluiceOf(gateway)('requests --workspace loud');
  t.true(out.includes(`rate_limited × ${count}`), out);
  const exported = await sluiceOf(gateway)('requests --workspace loud --export csv');
  t.true(exported.out.includes(`,429,rate_limited,${count},`), exported.out);
});

test.serial(
  'what is not logged yet stays until its minute is over, and is erased with its workspace',
  async (t) => {
    const now = Date.now();
    const body = { model: 'solo', messages: [{ role: 'user', content: 'again' }] };
    const key = gateway.keys.erased ?? '';
    await until('one that is counted', async () => {
      await gateway.chat(body, { key });
      const fields = await gateway.redis.hkeys(gateway.names.refusals);
      return fields.some((field) => field.includes(',"erased","rate_limited"]:count'));
    });
    t.is(await refusals.log(now), 0);
    await admin('DELETE', '/workspaces/erased?erase=true');
    t.is(await refusals.log(now + 2 * MINUTE_MS), 0);
    t.deepEqual(await refusedEntries('erased'), []);
  },
);
