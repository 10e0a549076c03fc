/** What a workspace is refused beyond a rate is counted, and logged in one entry. */
import type { RefusalCount } from '@sluice/shared/admin-api';
import { makeGatewayKey } from '@sluice/shared/contract/gateway-key';
import { Refusals } from '@sluice/shared/queue/refusals';
import type { LogEntry } from '@sluice/shared/queue/request-log';
import { TurnedAway } from '@sluice/shared/queue/turned-away';
import { adminOf, type CallAdmin } from '../helpers/admin.js';
import { type Gateway, startProcesses } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { sluiceOf } from '../helpers/sluice.js';
import { until } from '../helpers/until.js';
import { textHashOf } from '../helpers/upstream-calls.js';

const SOLO = { solo: [{ provider: 'openai', model: 'gpt-4o-mini' }] };
const ONE_BY_ONE = 3;
const MINUTE_MS = 60_000;
const limits = { requests_per_minute: 1, when_full: 'refuse' };
let gateway: Gateway;
let admin: CallAdmin;
let refusals: Refusals;
/** Until then upstream does not answer the slow request. */
let answerSlow = () => {};
const slowAnswer = new Promise<void>((resolve) => {
  answerSlow = resolve;
});

test.before(async () => {
  gateway = await startProcesses({
    apis: 2,
    requestLog: { max_refusals_per_minute: ONE_BY_ONE },
    routes: SOLO,
    simulator: { latencyMs: ({ textHash }) => (textHash === textHashOf('slow') ? slowAnswer : 1) },
    workspaces: {
      loud: { routes: SOLO, limits },
      erased: { routes: SOLO, limits },
      third: { routes: SOLO },
      lost: { limits },
      busy: { routes: SOLO, limits: { concurrent_requests: 1, when_full: 'refuse' } },
      broke: { routes: SOLO, limits: { budget_usd_per_month: 0.000001 } },
    },
  });
  admin = adminOf(gateway);
  refusals = new Refusals(gateway.redis, gateway.names);
});
test.after.always(() => {
  answerSlow();
  return gateway?.stop();
});

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
  for (const { acceptedAt, lastAt = 0, code, reason, attempts } of together) {
    t.true(lastAt >= Math.floor(acceptedAt));
    t.is(code, 'rate_limited');
    t.is(reason, 'workspace_requests_per_minute');
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
  // A time that ended before has nothing of it, and one that ends later than now ends now.
  const [before, later] = [new Date(Date.now() - 3_600_000), new Date(Date.now() + 3_600_000)];
  for (const path of ['/traffic', '/refusals', '/attempts']) {
    const past = await admin('GET', `${path}?since=2h&until=${before.toISOString()}`);
    t.like(past, { status: 200, body: { requests: 0, until: before.toISOString() } }, path);
    // The count of refusals is written now and then.
    const open = await until(`requests at ${path}`, async () => {
      const answer = await admin('GET', `${path}?since=2h&until=${later.toISOString()}`);
      return (answer.body.requests > 0 || path === '/attempts') && answer;
    });
    t.true(Date.parse(open.body.until) < later.getTime(), path);
    const wrong = await admin('GET', `${path}?since=1h&until=2h`);
    t.like(wrong, { status: 400, body: { error: { param: 'since' } } }, path);
  }
  t.regex(
    (await sluiceOf(gateway)(['refusals', '--since', '1h ago', '--until', 'today'])).out,
    /refused from/,
  );
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
      return fields.some((field) =>
        field.includes(',"erased","rate_limited","workspace_requests_per_minute"]:count'),
      );
    });
    t.is(await refusals.log(now), 0);
    await admin('DELETE', '/workspaces/erased?erase=true');
    t.is(await refusals.log(now + 2 * MINUTE_MS), 0);
    t.deepEqual(await refusedEntries('erased'), []);
  },
);

test.serial(
  'every refusal and failure is logged with its own reason, in words, and found by it',
  async (t) => {
    const { simulator } = gateway;
    const say = (model: string, text: string, workspace?: string) =>
      gateway.chat(
        { model, messages: [{ role: 'user', content: text }] },
        workspace === undefined ? {} : { key: gateway.keys[workspace] ?? '' },
      );
    simulator.script(
      {
        match: { textIncludes: 'refuse the key' },
        action: { status: 401, body: { error: { message: 'Your account is not active.' } } },
      },
      {
        match: { textIncludes: 'Ada Lovelace' },
        action: { status: 500, body: { error: { message: 'It failed at "Ada Lovelace".' } } },
      },
    );
    const slow = say('solo', 'slow', 'busy');
    await until('the call', () => simulator.calls.some(({ body }) => JSON.stringify(body).includes('slow')));
    t.is((await say('solo', 'too many', 'busy')).status, 429);
    answerSlow();
    await slow;
    t.is((await say('solo', 'too dear', 'broke')).body.error.code, 'budget_exceeded');
    t.is((await say('solo', 'refuse the key')).status, 502);
    t.is((await say('solo', 'about Ada Lovelace')).status, 502);

    const found = async (reason: string) => (await admin('GET', `/requests?reason=${reason}`)).body.data;
    const [tooMany] = await found('workspace_concurrency');
    t.like(tooMany, { workspace: 'busy', code: 'rate_limited', queued: false, attempts: [] });
    t.is(tooMany.reason_text, 'The workspace had reached its limit of requests at a time.');
    t.like((await found('budget_too_small'))[0], {
      workspace: 'broke',
      code: 'budget_exceeded',
      queued: false,
    });
    const [refusedKey] = await found('provider_key_refused');
    t.like(refusedKey, { code: 'provider_error', queued: true });
    t.is(refusedKey.attempts[0].message, 'Your account is not active.');
    t.is(typeof refusedKey.attempts[0].start_ms, 'number');
    const [failed] = await found('provider_error');
    t.is(failed.attempts[0].message, 'It failed at “…”.', 'the prompt is left out of the provider’s words');
    t.deepEqual(await found('caller_left'), []);
  },
);

test.serial('what was refused is counted apart from what failed', async (t) => {
  const { body } = await admin('GET', '/traffic');
  const log = await gateway.log();
  const count = (isMeant: (entry: LogEntry) => boolean) =>
    sum(log.filter(isMeant).map(({ count: each = 1 }) => each));
  t.is(
    body.failed,
    count(({ status }) => status === 502),
  );
  const kinds = body.reasons as { kind: string; reason: string; requests: number }[];
  const refused = kinds.filter(({ kind }) => kind === 'policy' || kind === 'caller');
  t.is(body.refused, sum(refused.map(({ requests }) => requests)));
  t.is(kinds.find(({ reason }) => reason === 'budget_too_small')?.requests, 1);
  t.is(body.cancelled, 0);
  const reasons = body.reasons.map(({ reason }: { reason: string }) => reason);
  for (const reason of ['workspace_requests_per_minute', 'budget_too_small', 'provider_key_refused'])
    t.true(reasons.includes(reason), reason);
});

test.serial('a workspace whose budget refuses everything says since when, and stops saying so', async (t) => {
  const [first] = (await admin('GET', '/requests?reason=budget_too_small')).body.data;
  const states = async () => [
    (await admin('GET', '/workspaces/broke')).body.refusing_since,
    (await admin('GET', '/workspaces/broke/limits')).body.used.refusing_since,
    (await admin('GET', '/budgets')).body.data[0].refusing_since,
  ];
  const [since, ...others] = await states();
  // The clock of a process is set by that of Redis again and again.
  const at = Date.parse(since);
  t.true(at > Date.parse(first.accepted_at) - 1_000, `${since} ${first.accepted_at}`);
  t.true(at < Date.parse(first.settled_at) + 1_000, `${since} ${first.settled_at}`);
  t.deepEqual(others, [since, since]);
  await admin('PATCH', '/workspaces/broke/limits', { budget_usd_per_month: 10 });
  t.deepEqual(await states(), [null, null, null]);
});

test.serial('requests that were never accepted are counted by workspace, key and reason', async (t) => {
  const [keys] = [(await admin('GET', '/directory')).body.keys as { id: string; workspace: string }[]];
  const demo = keys.find(({ workspace }) => workspace === 'demo')?.id;
  const text = { messages: [{ role: 'user', content: 'Hi' }] };
  for (let i = 0; i < 3; i++) await gateway.chat({ model: 'no-such-model', ...text });
  await gateway.chat({ model: 'solo' });
  await gateway.chat({ model: 'solo', ...text }, { key: makeGatewayKey() });
  const { body: revoked } = await admin('POST', '/workspaces/third/keys', { name: 'leaked' });
  t.is((await gateway.chat({ model: 'solo', ...text }, { key: revoked.value })).status, 200);
  await admin('DELETE', `/keys/${revoked.id}`);
  const after = await until('the revoked key refused', async () => {
    const answer = await gateway.chat({ model: 'solo', ...text }, { key: revoked.value });
    return answer.status === 401 && answer;
  });
  t.is(after.body.error.code, 'invalid_api_key', 'callers do not learn that there was such a key');
  const rows = await until('the counts', async () => {
    const { body } = await admin('GET', '/refusals?since=1h');
    const has = (reason: string) => body.data.some((row: { reason: string }) => row.reason === reason);
    return has('unknown_model') && has('bad_request') && has('key_unknown') && has('key_revoked')
      ? body.data
      : undefined;
  });
  const row = (reason: string, workspace: string | null) =>
    rows.find((each: RefusalCount) => each.reason === reason && each.workspace === workspace);
  t.like(row('unknown_model', 'demo'), { key_id: demo, requests: 3, kind: 'caller' });
  t.like(row('bad_request', 'demo'), { key_id: demo, requests: 1 });
  t.like(row('key_unknown', null), { key_id: null, requests: 1, kind: 'caller' });
  t.like(row('key_revoked', 'third'), { key_id: revoked.id, requests: 1, kind: 'policy' });
  t.like(row('workspace_concurrency', 'busy'), { requests: 1, kind: 'policy' });
  t.like((await admin('GET', '/refusals?reason=unknown_model&workspace=demo')).body, { requests: 3 });
  t.is((await admin('GET', '/refusals?since=7d')).status, 400);
});

test.serial('a workspace with many keys does not hide who else was refused', async (t) => {
  const { redis, names } = gateway;
  const turnedAway = new TurnedAway(redis, names);
  const now = Date.UTC(2026, 0, 1);
  const hidden = (minute: number) => now + minute * MINUTE_MS;
  for (let minute = 0; minute < 60; minute++) {
    for (let key = 0; key < 100; key++)
      turnedAway.count(hidden(minute), 'crowd', `key_${key}`, 'bad_request');
    turnedAway.count(hidden(minute), 'quiet', 'key_q', 'budget_spent');
    await turnedAway.write();
  }
  const counts = await turnedAway.read(now, hidden(59));
  const of = (workspace: string) => counts.filter((row) => row.workspace === workspace);
  t.is(of('quiet').length, 60);
  t.true(of('quiet').every(({ keyId, requests }) => keyId === 'key_q' && requests === 1));
  t.is(sum(of('crowd').map(({ requests }) => requests)), 6_000, 'all of its own are still told as its own');
  t.true(of('crowd').length < 600);
  await redis.del(names.turnedAway(String(now / (60 * MINUTE_MS))));
});
