/** The Redis users that deploy/redis/start.sh makes for a cell of several shards: nothing that its processes do is denied. */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import { adminOf } from '../helpers/admin.js';
import { batchEnd, createBatch, line, toJsonl } from '../helpers/batches.js';
import { type Gateway, startProcesses } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { ownersOf } from '../helpers/owners.js';
import { WebhookReceiver } from '../helpers/webhook-receiver.js';

const SHARDS = 3;
const OWNERS = ownersOf(SHARDS);
const routes = {
  fast: [{ provider: 'openai', model: 'gpt-4o-mini' }],
  metered: [{ provider: 'metered', model: 'gpt-4o-mini' }],
};
const limits = {
  concurrent_requests: 40,
  requests_per_minute: 100_000,
  budget_usd_per_month: 1_000,
  budgets: [{ scope: 'workspace', window: 'total', usd: 1_000 }],
};
const PASSWORDS = { api: 'p1', worker: 'w1', admin: 'a1' };
const folder = mkdtempSync(join(tmpdir(), 'sluice-shard-users-'));
let gateway: Gateway;

/** The users as start.sh gives them to Redis. Only the test itself may be another one. */
function writeUsers(): string {
  // In the place of Redis: it shows what it is started with.
  writeFileSync(join(folder, 'redis-server'), '#!/bin/sh\ncat "$2"\n', { mode: 0o755 });
  const { status, stdout } = spawnSync(
    'sh',
    [fileURLToPath(new URL('../../../deploy/redis/start.sh', import.meta.url))],
    {
      encoding: 'utf8',
      env: {
        PATH: `${folder}:${process.env.PATH}`,
        TMPDIR: folder,
        SLUICE_CELL: 'test',
        SLUICE_SHARDS: String(SHARDS),
        REDIS_API_PASSWORD: PASSWORDS.api,
        REDIS_WORKER_PASSWORD: PASSWORDS.worker,
        REDIS_ADMIN_PASSWORD: PASSWORDS.admin,
      },
    },
  );
  if (status !== 0) throw new Error('start.sh failed');
  const file = join(folder, 'for-test.acl');
  writeFileSync(file, stdout.replace('user default off ', 'user default on nopass '));
  return file;
}

test.before(async () => {
  let redisUrl = '';
  const urlOf = (user: keyof typeof PASSWORDS) =>
    redisUrl.replace('redis://', `redis://sluice-${user}:${PASSWORDS[user]}@`);
  gateway = await startProcesses({
    workers: 0,
    redisExtra: ['--aclfile', writeUsers()],
    async redisVia(url) {
      redisUrl = url;
      return urlOf('admin');
    },
    env: { SLUICE_SHARDS: String(SHARDS) },
    providers: {
      metered: {
        kind: 'openai',
        base_url: '${OPENAI_BASE_URL}',
        limits: { requests_per_minute: 1_000, tokens_per_minute: 1_000_000 },
        keys: [{ name: 'one', api_key: '${OPENAI_API_KEY}' }],
      },
    },
    webhooks: { allow_private_addresses: true },
    workspaces: Object.fromEntries(OWNERS.map((id) => [id, { routes, limits }])),
  });
  await gateway.addWorker({ REDIS_URL: urlOf('worker') });
  await gateway.addApi({ REDIS_URL: urlOf('api') });
});
test.after.always(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test.serial('requests, batches and lists of all shards are denied nothing', async (t) => {
  const admin = adminOf(gateway);
  const url = gateway.urls[1] ?? '';
  for (const workspace of OWNERS) {
    const key = gateway.keys[workspace] ?? '';
    const messages = [{ role: 'user', content: 'hello' }];
    for (const model of ['fast', 'metered'])
      for (const headers of [{}, { 'idempotency-key': randomUUID() }] as Record<string, string>[])
        t.is((await gateway.chat({ model, messages }, { url, key, headers })).status, 200, workspace);
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
    const batch = await createBatch(client, toJsonl([line('a', 'one'), line('b', 'two')]));
    t.is((await batchEnd(client, batch.id)).status, 'completed');
  }
  for (const path of ['/requests', '/spend', '/budgets', '/traffic', '/status', '/workspaces'])
    t.is((await admin('GET', path)).status, 200, path);
  for (const { metricsUrl } of [...gateway.apis, ...gateway.workers]) await fetch(`${metricsUrl}/metrics`);
  t.deepEqual(await gateway.redis.call('ACL', 'LOG'), []);
});

test.serial('a workspace moves with all that it has, and nothing of that is denied', async (t) => {
  const admin = adminOf(gateway);
  const url = gateway.urls[1] ?? '';
  const [workspace = ''] = OWNERS;
  const key = gateway.keys[workspace] ?? '';
  const receiver = await WebhookReceiver.start();
  t.teardown(() => receiver.stop());
  await admin('POST', `/workspaces/${workspace}/webhooks`, { url: receiver.url('/hook') });
  const headers = { 'idempotency-key': randomUUID() };
  const request = { model: 'fast', messages: [{ role: 'user', content: 'before' }] };
  const before = await gateway.chat(request, { url, key, headers });
  const accepted = await gateway.chat(request, { url, key, headers: { prefer: 'respond-async' } });
  t.is(accepted.status, 202);
  for (const shard of [2, 0]) {
    const { status, body } = await admin('POST', `/workspaces/${workspace}/move`, {
      shard,
      wait_seconds: 120,
    });
    t.is(status, 200, JSON.stringify(body));
    t.deepEqual(await gateway.chat(request, { url, key, headers }).then(({ body }) => body), before.body);
    t.is((await gateway.chat(request, { url, key })).status, 200);
  }
  t.is((await admin('GET', '/shards')).status, 200);
  t.deepEqual(await gateway.redis.call('ACL', 'LOG'), []);
});
