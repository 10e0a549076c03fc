/** What is left of a workspace that was deleted. */
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { applyConfig } from '@sluice/cli/apply/apply-config';
import { loadConfig } from '@sluice/shared/config/config';
import { Directory } from '@sluice/shared/directory/directory';
import { KeyDigests } from '@sluice/shared/directory/key-digests';
import { readEnv } from '@sluice/shared/process/env';
import { pepperEnv } from '@sluice/shared/process/shared-env';
import { RedisClock } from '@sluice/shared/redis/clock';
import { adminOf, type CallAdmin, freeId } from '../helpers/admin.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { readEverything } from '../helpers/redis-contents.js';
import { until } from '../helpers/until.js';

const CHAIN = [{ provider: 'openai', model: 'gpt-4o-mini' }];
const DEADLINE_MS = 300_000;
const RECEIVE_MS = 600_000;
let gateway: Gateway;
let admin: CallAdmin;

test.before(async () => {
  gateway = await startGateway({
    routes: { solo: CHAIN },
    request: { deadline_ms: DEADLINE_MS, receive_timeout_ms: RECEIVE_MS },
  });
  admin = adminOf(gateway);
});
test.after.always(() => gateway?.stop());

/** A new workspace, and a way to send as it. */
async function create(id: string) {
  await admin('POST', '/workspaces', { id, limits: { budget_usd_per_month: 5, requests_per_minute: 100 } });
  await admin('PUT', `/workspaces/${id}/routes/solo`, { chain: CHAIN });
  const { body } = await admin('POST', `/workspaces/${id}/keys`, { name: 'first' });
  const request = { model: 'solo', messages: [{ role: 'user', content: 'a secret' }], max_tokens: 10 };
  const send = () => gateway.chat(request, { key: body.value, headers: { 'idempotency-key': 'the same' } });
  await until('the key is known', async () => (await send()).status === 200);
  return send;
}

const served = async (id: string) =>
  (await admin('GET', `/requests?workspace=${id}&status=200`)).body.data.length;
const spent = async (id: string) => (await admin('GET', `/spend?workspace=${id}`)).body.total.requests;

test.serial(
  'the id of a deleted workspace is free when nothing of that is left, and the next one starts clean',
  async (t) => {
    const send = await create('tenant');
    t.is((await send()).headers.get('idempotent-replayed'), 'true');
    const before = (await send()).body.id;
    const { body: token } = await admin('POST', '/tokens', {
      name: 'tenant’s own',
      role: 'admin',
      workspaces: ['tenant'],
    });
    const { body: key } = await admin('POST', '/workspaces/tenant/keys', { name: 'revoked' });
    await admin('DELETE', `/keys/${key.id}`);
    const refused = async (says: RegExp) => {
      const { status, body } = await admin('POST', '/workspaces', { id: 'tenant' });
      t.is(status, 409);
      t.like(body.error, { code: 'conflict', param: 'id' });
      t.regex(body.error.message, says);
    };

    await admin('DELETE', '/workspaces/tenant');
    t.is(await gateway.redis.exists(gateway.names.spent('tenant')), 0);
    await refused(/log and spend are under this id.*erase=true/);
    t.deepEqual([await served('tenant'), await spent('tenant')], [1, 1], 'the books have them');

    const { redis, names } = gateway;
    const [[, [, logged = ''] = []] = ['']] = await redis.xrevrange(names.requestLog, '+', '-', 'COUNT', 1);
    const { body } = await admin('DELETE', '/workspaces/tenant?erase=true');
    t.like(body.erased, { log_entries: 1, ledger_rows: 1 });
    await refused(/The id is free at/);
    const record = JSON.parse((await redis.hget(names.deletedWorkspaces, 'tenant')) ?? '');
    t.is(Date.parse(body.erased.id_free_at), Math.floor(record.requestsEnd));
    // A caller may still send the body of a request that was let in.
    t.true(record.requestsEnd - record.deleted > DEADLINE_MS + RECEIVE_MS);
    // A request that was under way ends now.
    await redis.xadd(names.requestLog, '*', 'entry', logged);
    await redis.hset(names.spent('tenant'), '2026-01', 1);
    await redis.hset(names.deletedWorkspaces, 'tenant', JSON.stringify({ ...record, requestsEnd: 0 }));
    await refused(/token tenant’s own .* Revoke that first/);
    await admin('DELETE', `/tokens/${token.id}`);

    const again = await create('tenant');
    t.not((await again()).body.id, before);
    t.deepEqual([await served('tenant'), await spent('tenant')], [1, 1], 'only what it has done itself');
    t.false((await redis.hvals(names.revokedKeyIds)).some((owner) => owner.endsWith(' tenant')));
    t.is(await redis.hexists(names.spent('tenant'), '2026-01'), 0);
    const own = await admin('POST', '/tokens', { name: 'new', role: 'admin', workspaces: ['tenant'] });
    const { body: audit } = await admin('GET', '/audit', undefined, { token: own.body.value });
    t.deepEqual(
      audit.data
        .map(({ action }: { action: string }) => action)
        .reverse()
        .slice(0, 2),
      ['POST /workspaces', 'PUT /workspaces/{id}/routes/{alias}'],
    );
  },
);

test.serial('with erase, nothing in Redis names the workspace any more', async (t) => {
  await create('forgotten');
  const { status, body } = await admin('DELETE', '/workspaces/forgotten?erase=true');
  t.is(status, 200);
  t.like(body.erased, { log_entries: 1, ledger_rows: 1 });
  // Who called a provider lately is forgotten by itself.
  await gateway.redis.del(gateway.names.callers('openai'));
  // The audit trail says who erased it, and the id itself is remembered until it is free.
  await gateway.redis.del(gateway.names.audit('changes'));
  t.is(await gateway.redis.hexists(gateway.names.deletedWorkspaces, 'forgotten'), 1);
  await gateway.redis.del(gateway.names.deletedWorkspaces);
  t.false((await readEverything(gateway.redis, `{${gateway.cell}}:*`)).includes('forgotten'));
  t.is((await admin('DELETE', '/workspaces/forgotten?erase=true')).status, 404);
  t.is((await admin('DELETE', '/workspaces/tenant?erase=maybe')).status, 400);
});

test.serial(
  'a file that is sent while its workspace is deleted does not come to the next one of its id',
  async (t) => {
    const create = async () => {
      await admin('POST', '/workspaces', { id: 'uploads' });
      return (await admin('POST', '/workspaces/uploads/keys', { name: 'first' })).body.value as string;
    };
    const files = (key: string) =>
      fetch(`${gateway.url}/v1/files`, { headers: { authorization: `Bearer ${key}` } });
    const key = await create();
    await until('the key is known', async () => (await files(key)).ok);

    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const part = (name: string) => `--part\r\ncontent-disposition: form-data; name="${name}"`;
    async function* form() {
      yield Buffer.from(`${part('purpose')}\r\n\r\nbatch\r\n${part('file')}; filename="a.jsonl"\r\n\r\n{`);
      await finished;
      yield Buffer.from('}\r\n--part--\r\n');
    }
    const upload = fetch(`${gateway.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'multipart/form-data; boundary=part' },
      body: Readable.toWeb(Readable.from(form())) as ReadableStream,
      duplex: 'half',
    });
    const expected = () => gateway.redis.zrange(gateway.names.fileObjects, '0', '-1');
    await until('the upload', async () => (await expected()).some((object) => object.startsWith('uploads/')));

    await admin('DELETE', '/workspaces/uploads');
    await freeId(gateway, 'uploads');
    const next = await create();
    await until('the next key is known', async () => (await files(next)).ok);
    finish();
    t.is((await upload).status, 401);
    t.like(await (await files(next)).json(), { data: [] });
  },
);

test.serial('gateway.yaml does not bring a deleted workspace back', async (t) => {
  const { redis, names, simulator, key } = gateway;
  const { openaiBaseUrl, anthropicBaseUrl } = simulator;
  const env = { OPENAI_BASE_URL: openaiBaseUrl, ANTHROPIC_BASE_URL: anthropicBaseUrl, TEST_KEY_0: key };
  await admin('DELETE', '/workspaces/demo');
  const clock = new RedisClock(gateway.names);
  await clock.synchronise(redis);
  const config = loadConfig(gateway.configPath, env);
  const { made, notes } = await applyConfig(
    config,
    env,
    new Directory(redis, names, [{ id: 0, redis, names }]),
    clock,
    new KeyDigests(readEnv({}, pepperEnv).KEY_PEPPER),
  );
  t.deepEqual(made, []);
  t.regex(notes.join('\n'), /^workspace demo was deleted on .* and is left out/);
  t.is((await admin('GET', '/workspaces/demo')).status, 404);
});
