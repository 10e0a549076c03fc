/** Who may do what: tokens with roles, what people of one workspace see, and the trail of what was changed. */
import { randomUUID } from 'node:crypto';
import { PERMISSIONS, type Permission } from '@sluice/admin/access/permissions';
import { adminPaths } from '@sluice/admin/openapi/admin-paths';
import { ROLES, type Role } from '@sluice/shared/contract/access';
import { adminOf, type CallAdmin } from '../helpers/admin.js';
import { BrowserLike } from '../helpers/browser-like.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { sluiceOf } from '../helpers/sluice.js';

const ROUTES = { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] };
const LIMITS = { budget_usd_per_month: 5 };

interface Holder {
  role: Role;
  workspaces: string[] | null;
  id: string;
  value: string;
}

let gateway: Gateway;
let admin: CallAdmin;
const holders: Holder[] = [];

test.before(async () => {
  gateway = await startGateway({
    workspaces: {
      'team-a': { routes: ROUTES, limits: LIMITS },
      'team-b': { routes: { 'only-b': ROUTES.fast }, limits: LIMITS },
    },
  });
  admin = adminOf(gateway);
  for (const role of ROLES)
    for (const workspaces of [null, ['team-a']]) {
      const { body } = await admin('POST', '/tokens', { name: `${role} ${workspaces}`, role, workspaces });
      holders.push({ role, workspaces, id: body.id, value: body.value });
    }
  for (const [workspace, model] of [
    ['team-a', 'fast'],
    ['team-b', 'only-b'],
    ['team-b', 'only-b'],
  ] as const)
    await ask(workspace, model);
});
test.after.always(() => gateway?.stop());

const ask = (workspace: string, model: string) =>
  gateway.chat(
    { model, messages: [{ role: 'user', content: 'a prompt for nobody else' }] },
    { key: gateway.keys[workspace] ?? '' },
  );

const holderOf = (role: Role, workspaces: string[] | null): Holder => {
  const found = holders.find(
    (each) => each.role === role && (each.workspaces === null) === (workspaces === null),
  );
  if (!found) throw new Error(`no token for ${role}`);
  return found;
};

/** Calls that stop short of changing anything, once they are allowed. */
const HARMLESS: Record<string, { path?: string; body?: unknown }> = {
  'POST /workspaces': { body: {} },
  'PATCH /workspaces/{id}': { body: { name: 5 } },
  'DELETE /workspaces/{id}': { path: '?erase=perhaps' },
  'PUT /workspaces/{id}/limits': { body: { weight: 'x' } },
  'PATCH /workspaces/{id}/limits': { body: { weight: 'x' } },
  'POST /workspaces/{id}/keys': { body: {} },
  'POST /keys/find': { body: {} },
  'PATCH /keys/{id}': { body: { name: 5 } },
  'POST /keys/{id}/rotate': { body: { grace_seconds: -1 } },
  'PUT /workspaces/{id}/routes/{alias}': { body: {} },
  'POST /workspaces/{id}/playground': { body: {} },
  'PUT /models/{provider}/{id}': { body: {} },
  'POST /models/refresh': { body: {} },
  'POST /reconciliations': { body: {} },
  'POST /tokens': { body: {} },
};

interface Outcome {
  status: number;
  text: string;
}

async function call(name: string, workspace: string, token: string | null): Promise<Outcome> {
  const [method = '', template = ''] = name.split(' ');
  const { path: more = '', body } = HARMLESS[name] ?? {};
  const id = template.startsWith('/keys/{id}')
    ? await makeKey(workspace)
    : template.startsWith('/workspaces/{id}')
      ? workspace
      : 'nothing';
  const path = template
    .replace('{id}', id)
    .replace('{alias}', 'nothing')
    .replace('{provider}', 'nobody')
    .replace('{month}', '2020-01');
  const left = new AbortController();
  const response = await fetch(gateway.adminUrl + path + more, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: left.signal,
  });
  const text = name === 'GET /requests/follow' ? '' : await response.text();
  left.abort();
  return { status: response.status, text };
}

async function makeKey(workspace: string): Promise<string> {
  return (await admin('POST', `/workspaces/${workspace}/keys`, { name: 'short-lived' })).body.id;
}

/** What the table means, said once more. */
function expected(
  { role, scope }: Permission,
  holder: Holder,
  workspace: string,
): 'allowed' | 'denied' | 'hidden' {
  const isEnough = ROLES.indexOf(holder.role) >= ROLES.indexOf(role);
  if (scope === 'gateway') return isEnough && holder.workspaces === null ? 'allowed' : 'denied';
  if (scope === 'somewhere') return isEnough ? 'allowed' : 'denied';
  if (holder.workspaces !== null && !holder.workspaces.includes(workspace)) return 'hidden';
  return isEnough ? 'allowed' : 'denied';
}

const seen = ({ status, text }: Outcome): string => {
  if (status === 403) return 'denied';
  if (status === 404 && /There is no (?:workspace|key) with this id/.test(text)) return 'hidden';
  return status === 401 || status >= 500 ? `${status} ${text}` : 'allowed';
};

test.serial('the table of permissions has every path of the document, and no other', (t) => {
  const inDocument = Object.entries(adminPaths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  t.deepEqual(Object.keys(PERMISSIONS).sort(), [...inDocument, 'GET /queues'].sort());
});

test.serial('every path is open to exactly the roles and workspaces of the table', async (t) => {
  for (const [name, permission] of Object.entries(PERMISSIONS)) {
    t.is((await call(name, 'team-a', null)).status, 401, `${name} by nobody`);
    const workspaces = ['workspace', 'key'].includes(permission.scope) ? ['team-a', 'team-b'] : ['team-a'];
    await Promise.all(
      holders.flatMap((holder) =>
        workspaces.map(async (workspace) =>
          t.is(
            seen(await call(name, workspace, holder.value)),
            expected(permission, holder, workspace),
            `${name} of ${workspace} by ${holder.role} of ${holder.workspaces ?? 'all'}`,
          ),
        ),
      ),
    );
  }
});

test.serial(
  'people of a workspace lead no route past its models, and give no key precedence over others',
  async (t) => {
    t.is((await admin('POST', '/workspaces', { id: 'narrow', models: ['fast', 'gpt-4o-*'] })).status, 201);
    const own = { name: 'of narrow', role: 'admin', workspaces: ['narrow'] };
    const token: string = (await admin('POST', '/tokens', own)).body.value;
    const asOwn = (method: string, path: string, body: object) => admin(method, path, body, { token });
    const path = '/workspaces/narrow/routes/fast';
    const chainOf = (model: string) => ({ chain: [{ provider: 'openai', model }] });
    t.is((await asOwn('PUT', path, chainOf('gpt-4o-mini'))).status, 201);
    t.like(await asOwn('PUT', path, chainOf('o1-pro')), {
      status: 403,
      body: { error: { code: 'permission_denied' } },
    });
    t.is((await admin('PUT', path, chainOf('o1-pro'))).status, 200);
    const keys = '/workspaces/narrow/keys';
    for (const wish of [{ priority: 'interactive' }, { max_priority: 'interactive' }])
      t.is((await asOwn('POST', keys, { name: 'first', ...wish })).status, 403);
    const { status, body } = await asOwn('POST', keys, { name: 'late', priority: 'background' });
    t.is(status, 201);
    t.is((await asOwn('PATCH', `/keys/${body.id}`, { max_priority: 'interactive' })).status, 403);
    t.is((await admin('PATCH', `/keys/${body.id}`, { max_priority: 'interactive' })).status, 200);
  },
);

test.serial('people of one workspace see nothing of another, on no path', async (t) => {
  const { value: token } = holderOf('admin', ['team-a']);
  const paths = Object.entries(PERMISSIONS)
    .filter(([name, { scope }]) => name.startsWith('GET ') && scope === 'somewhere')
    .map(([name]) => name.slice(4))
    .filter((path) => !path.includes('{') && path !== '/requests/follow' && path !== '/openapi.json');
  const asked = ['', '?workspace=team-b', '?by=workspace,route,provider,model,day', '?kind=sign_ins'];
  for (const path of paths)
    for (const query of asked) {
      const { status, text } = await call(`GET ${path}${query}`, '', token);
      t.true(status === 200 || status === 400, `${path}${query}`);
      t.false(/team-b|only-b/.test(text), `${path}${query}`);
    }
  const get = async (path: string) => (await admin('GET', path, undefined, { token })).body;
  t.is((await get('/traffic')).requests, 1);
  t.is((await get('/spend')).total.requests, 1);
  t.is((await get('/requests')).data.length, 1);
  t.deepEqual(
    (await get('/workspaces')).data.map(({ id }: { id: string }) => id),
    ['team-a'],
  );
  const status = await get('/status');
  t.deepEqual([status.processes, status.redis], [[], null]);
  const [other] = (await admin('GET', '/requests?workspace=team-b')).body.data;
  t.is((await admin('GET', `/requests/${other.id}`, undefined, { token })).status, 404);
});

test.serial('who follows the log of one workspace is told of no other', async (t) => {
  const { value } = holderOf('viewer', ['team-a']);
  const left = new AbortController();
  const response = await fetch(`${gateway.adminUrl}/requests/follow`, {
    headers: { authorization: `Bearer ${value}` },
    signal: left.signal,
  });
  await ask('team-b', 'only-b');
  await ask('team-a', 'fast');
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (/"workspace":"[^"]*"/.test(text)) break;
  }
  left.abort();
  t.true(text.includes('team-a'));
  t.false(text.includes('team-b'));
});

test.serial('a token ends when it expires or is revoked, and so does what was begun with it', async (t) => {
  const { body: token } = await admin('POST', '/tokens', { name: 'short', role: 'viewer' });
  const asToken = { token: token.value };
  t.is((await admin('GET', '/status', undefined, asToken)).status, 200);
  const { body: link } = await admin('POST', '/sign-in-links', undefined, asToken);
  const browser = new BrowserLike(gateway.adminUrl);
  t.is((await browser.ask('POST', '/session', { token: token.value })).status, 201);
  t.deepEqual((await browser.ask('GET', '/session')).body.person.grants, [
    { role: 'viewer', workspaces: null },
  ]);
  t.is((await browser.ask('POST', '/workspaces', { id: 'x' })).status, 403, 'a session is no promotion');
  const stored = await gateway.redis.hgetall(gateway.names.adminTokens);
  t.false(JSON.stringify(stored).includes(token.value));
  t.true((await admin('GET', '/tokens')).body.data.at(-1).last_used_at !== null);

  t.is((await admin('DELETE', `/tokens/${token.id}`)).status, 200);
  t.is((await admin('DELETE', `/tokens/${token.id}`)).status, 404);
  t.is((await admin('GET', '/status', undefined, asToken)).status, 401);
  t.is((await browser.ask('GET', '/status')).status, 401);
  const { status } = await browser.ask('POST', '/session', { link: link.path.replace('/#/sign-in/', '') });
  t.is(status, 401, 'nor does its link');

  const { body: old } = await admin('POST', '/tokens', {
    name: 'old',
    role: 'admin',
    expires_at: '2099-01-01T00:00:00Z',
  });
  for (const [digest, text] of Object.entries(await gateway.redis.hgetall(gateway.names.adminTokens))) {
    const record = JSON.parse(text);
    if (record.id === old.id)
      await gateway.redis.hset(
        gateway.names.adminTokens,
        digest,
        JSON.stringify({ ...record, expires: 1_000 }),
      );
  }
  t.is((await admin('GET', '/status', undefined, { token: old.value })).status, 401);
  for (const wrong of [
    { name: 'x' },
    { name: 'x', role: 'root' },
    { name: 'x', role: 'admin', workspaces: [] },
    { name: 'x', role: 'admin', expires_at: '2001-01-01T00:00:00Z' },
  ])
    t.is((await admin('POST', '/tokens', wrong)).status, 400, JSON.stringify(wrong));
});

test.serial('every change is in the trail: by whom, from where, before and after', async (t) => {
  const { value: token, id } = holderOf('admin', null);
  const as = (method: string, path: string, body?: unknown) => admin(method, path, body, { token });
  await as('POST', '/workspaces', { id: 'new', name: 'New' });
  await as('PATCH', '/workspaces/new', { name: 'Newer' });
  await as('PATCH', '/workspaces/new/limits', { weight: 3 });
  const { body: key } = await as('POST', '/workspaces/new/keys', { name: 'ci' });
  await as('PUT', '/workspaces/new/routes/r', ROUTES.fast);
  await as('PUT', '/workspaces/new/routes/r', [{ provider: 'openai', model: 'gpt-4o' }]);
  await as('POST', '/queues/openai/pause');
  await as('POST', '/queues/openai/resume');
  const rotated = (await as('POST', `/keys/${key.id}/rotate`, {})).body;
  const playground = { model: 'r', messages: [{ role: 'user', content: 'a prompt for nobody else' }] };
  await as('POST', '/workspaces/new/playground', playground);
  await as('DELETE', `/keys/${key.id}`);
  await as('DELETE', '/workspaces/new');
  await admin('DELETE', '/workspaces/demo', undefined, { token: holderOf('viewer', null).value });

  const { body } = await as('GET', '/audit?limit=13');
  t.true(body.has_more);
  const [denied, deleted, revoked, played, rotation, resumed, , changed, created, issued, limits, renamed] =
    body.data;
  t.is(denied.who, 'token viewer null');
  t.is(denied.status, 403);
  for (const entry of body.data.slice(1)) {
    t.is(entry.who, 'token admin null');
    t.is(entry.credential, id);
    t.regex(entry.address, /127\.0\.0\.1$/);
    t.true(Math.abs(Date.parse(entry.at) - Date.now()) < 600_000);
  }
  t.is(deleted.before.name, 'Newer');
  t.is(revoked.before.name, 'ci');
  t.deepEqual([revoked.workspace, rotation.workspace], ['new', 'new']);
  t.deepEqual([played.before, played.after, played.status], [null, null, 200]);
  t.is(rotation.after.issued.id, rotated.id);
  t.deepEqual([resumed.before, resumed.after], [{ paused: true }, { paused: false }]);
  t.deepEqual(
    [changed.before.chain[0].model, changed.after.chain[0].model, changed.workspace],
    ['gpt-4o-mini', 'gpt-4o', 'new'],
  );
  t.deepEqual([created.before, created.status], [null, 201]);
  t.is(issued.after.last_four, key.value.slice(-4));
  t.deepEqual([limits.before.weight, limits.after.weight], [null, 3]);
  t.deepEqual([renamed.before.name, renamed.after.name], ['New', 'Newer']);

  const raw = JSON.stringify(await gateway.redis.xrange(gateway.names.audit('changes'), '-', '+'));
  for (const secret of [key.value, rotated.value, token, gateway.adminToken, 'a prompt for nobody else'])
    t.false(raw.includes(secret));
  const { body: page } = await as('GET', `/audit?limit=5&before=${body.data[4].cursor}`);
  t.deepEqual(page.data, body.data.slice(5, 10));

  const export_ = async (format: string) =>
    (
      await fetch(`${gateway.adminUrl}/audit/export?format=${format}`, {
        headers: { authorization: `Bearer ${token}` },
      })
    ).text();
  t.is(JSON.parse((await export_('jsonl')).split('\n')[0] ?? '').action, 'DELETE /workspaces/{id}');
  t.regex(await export_('csv'), /^at,action,path,who,.*\r\n\d{4}-/);
});

test.serial('sign-ins are in a trail of their own, failed ones too', async (t) => {
  const browser = new BrowserLike(gateway.adminUrl);
  await browser.ask('POST', '/session', { token: 'not-the-token-at-all' });
  await browser.ask('POST', '/session', { link: 'x'.repeat(43) });
  await browser.ask('POST', '/session', { token: gateway.adminToken });
  const { body } = await admin('GET', '/audit?kind=sign_ins&limit=3');
  t.deepEqual(
    body.data.map(({ action, who, status }: Record<string, unknown>) => [action, who, status]),
    [
      ['sign in by token', 'root token', 201],
      ['sign in by link', null, 401],
      ['sign in by token', null, 401],
    ],
  );
  t.regex(body.data[0].credential, /^ses_/);
  const metrics = await (await fetch(`${gateway.apis[0]?.metricsUrl}/metrics`)).text();
  t.regex(metrics, /gateway_sign_ins_total\{way="link",outcome="refused"\} [1-9]/);
  const raw = JSON.stringify(await gateway.redis.xrange(gateway.names.audit('sign_ins'), '-', '+'));
  t.false(raw.includes('not-the-token-at-all'));
});

test.serial('sluice makes, lists and revokes tokens, and shows the trail', async (t) => {
  const sluice = sluiceOf(gateway);
  const created = await sluice('tokens create ci --role viewer --workspace team-a --quiet');
  const shown = await sluice('workspaces list --json', { env: { ADMIN_TOKEN: created.out.trim() } });
  t.deepEqual(
    shown.json().map(({ id }: { id: string }) => id),
    ['team-a'],
  );
  t.regex((await sluice('tokens list')).out, /ci +viewer +team-a +…/);
  t.is((await sluice('tokens revoke ci --yes')).code, 0);
  t.regex((await sluice('audit --limit 1')).out, /root token +\S+ +DELETE \/tokens\/tok_/);
  const route = '/workspaces/team-a/routes/undone';
  const entry = (model: string) => ({ provider: 'openai', model });
  for (const model of ['gpt-4o', 'gpt-4o-mini']) await admin('PUT', route, [entry(model)]);
  const [last, first] = (await sluice(`audit --path ${route} --json`)).json();
  t.regex((await sluice(`audit ${last.cursor}`)).out, /chain\[0\]\.model: gpt-4o → gpt-4o-mini/);
  t.is((await sluice(`audit ${last.cursor} --restore --yes`)).code, 0);
  t.like((await admin('GET', route)).body, { chain: [entry('gpt-4o')] });
  // It is a change like any other.
  const [restored] = (await sluice('audit --search routes/undone --limit 1 --json')).json();
  t.like(restored, { action: 'PUT /workspaces/{id}/routes/{alias}', status: 200, who: 'root token' });
  t.is((await sluice(`audit ${first.cursor} --restore --yes`)).code, 0);
  t.is((await admin('GET', route)).status, 404);
  t.regex((await sluice('audit 1-0')).err, /There is no change 1-0/);
  for (const option of ['--sign-ins', '--path /x', '--search x', '--export csv', '--limit 3'])
    t.is((await sluice(`audit ${last.cursor} ${option}`)).code, 2, option);
  t.is((await sluice('audit --restore')).code, 2);
  t.regex((await sluice('audit --export csv')).out, /^at,action/);
  t.regex((await sluice('audit --sign-ins')).out, /sign in by/);
});

test.serial('a change is put back only while it is as it was left', async (t) => {
  const sluice = sluiceOf(gateway);
  const newest = async (path: string) => (await sluice(`audit --path ${path} --limit 1 --json`)).json()[0];
  const restore = async (path: string) => {
    const { cursor } = await newest(path);
    return () => sluice(`audit ${cursor} --restore --yes`);
  };

  await admin('POST', '/workspaces', { id: 'regrets' });
  // The second key ends before its grace does, so that its end stays as it was set.
  for (const [grace_seconds, expires_at] of [
    [0, '2999-01-01T00:00:00Z'],
    [3600, new Date(Date.now() + 1_800_000).toISOString()],
  ] as const) {
    const { body: issued } = await admin('POST', '/workspaces/regrets/keys', { name: 'leaked' });
    await admin('PATCH', `/keys/${issued.id}`, { expires_at });
    const undo = await restore(`/keys/${issued.id}`);
    await admin('POST', `/keys/${issued.id}/rotate`, { grace_seconds });
    t.regex((await undo()).err, /cannot be brought back/);
    // Nor does an ordinary change bring back what has ended.
    const { status } = await admin('PATCH', `/keys/${issued.id}`, { expires_at: null });
    t.is(status, grace_seconds === 0 ? 409 : 200);
  }

  const value = `own-${randomUUID()}`;
  for (const status of [201, 200])
    t.is((await admin('POST', '/workspaces/regrets/keys', { name: 'own', value })).status, status);
  t.regex((await (await restore('/workspaces/regrets/keys'))()).err, /Nothing was changed/);
  const { body: keys } = await admin('GET', '/workspaces/regrets/keys');
  const { id } = keys.data.find(({ name }: { name: string }) => name === 'own');
  await admin('PATCH', `/keys/${id}`, { name: 'renamed' });
  t.is((await (await restore(`/keys/${id}`))()).code, 0);
  t.is((await newest(`/keys/${id}`)).after.name, 'own');

  const limits = '/workspaces/regrets/limits';
  const each = (scope: string, usd: number) => ({ scope, window: 'day', usd });
  await admin('PATCH', limits, { budgets: [each('end_user', 5)] });
  // Nobody has used it yet.
  t.regex((await sluice('budgets list regrets')).out, /each end user, a day[ -]+5\.000000 +0\.000000/);
  const undo = await restore(limits);
  await admin('PATCH', '/workspaces/regrets', { limits: { budgets: [each('end_user', 5), each('key', 3)] } });
  t.is((await undo()).code, 0);
  t.deepEqual((await admin('GET', limits)).body.budgets, [each('key', 3)]);
  t.regex(
    (await undo()).err,
    /changed this since \(the last change was by root token\): the budget for each end/,
  );

  const path = `/workspaces/regrets/routes/${'a%2F'.repeat(63)}a`;
  const chain = (model: string) => [{ provider: 'openai', model }];
  await admin('PUT', path, chain('gpt-4o'));
  const first = await restore(path);
  await admin('PUT', `${path}a`, chain('gpt-4o'));
  await admin('PUT', path, chain('gpt-4o-mini'));
  t.regex((await first()).err, /changed this since .*: chain/);
  t.is((await (await restore(path))()).code, 0);
  t.is((await first()).code, 0);
  t.is((await admin('GET', path)).status, 404);
  t.is((await admin('GET', `${path}a`)).status, 200, 'the route whose path is longer by one stays');
});
