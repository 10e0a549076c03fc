/** What is left of a workspace that was deleted. */
import { adminOf, type CallAdmin } from '../helpers/admin.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { readEverything } from '../helpers/redis-contents.js';
import { until } from '../helpers/until.js';

const CHAIN = [{ provider: 'openai', model: 'gpt-4o-mini' }];
let gateway: Gateway;
let admin: CallAdmin;

test.before(async () => {
  gateway = await startGateway({ routes: { solo: CHAIN } });
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

test.serial('a workspace of the same id starts clean', async (t) => {
  const send = await create('tenant');
  t.is((await send()).headers.get('idempotent-replayed'), 'true');
  const before = (await send()).body.id;
  await admin('DELETE', '/workspaces/tenant');
  t.is(await gateway.redis.exists(gateway.names.spent('tenant')), 0);
  const again = await create('tenant');
  t.not((await again()).body.id, before);
  const { body } = await admin('GET', '/requests?workspace=tenant');
  const served = body.data.filter(({ status }: { status: number }) => status === 200);
  t.is(served.length, 2, `the log has both: ${JSON.stringify(body.data)}`);
});

test.serial('with erase, nothing in Redis names the workspace any more', async (t) => {
  await create('forgotten');
  const { status, body } = await admin('DELETE', '/workspaces/forgotten?erase=true');
  t.is(status, 200);
  t.deepEqual(body.erased, { log_entries: 1, ledger_rows: 1 });
  // Who called a provider lately is forgotten by itself.
  await gateway.redis.del(gateway.names.callers('openai'));
  // The audit trail says who erased it.
  await gateway.redis.del(gateway.names.audit('changes'));
  t.false((await readEverything(gateway.redis, `{${gateway.cell}}:*`)).includes('forgotten'));
  t.is((await admin('DELETE', '/workspaces/forgotten?erase=true')).status, 404);
  t.is((await admin('DELETE', '/workspaces/tenant?erase=maybe')).status, 400);
});
