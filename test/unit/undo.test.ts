import type { AuditRecord } from '@sluice/shared/admin-api';
import { keyChange } from '@sluice/shared/contract/key';
import { CUT, differencesOf, undoAgainst, undoOf } from '@sluice/shared/contract/undo';
import test from 'ava';

const record = (part: Partial<AuditRecord>): AuditRecord => ({
  object: 'audit',
  cursor: '1-0',
  at: '2026-11-16T14:00:00.000Z',
  action: 'PUT /workspaces/{id}/routes/{alias}',
  path: '/workspaces/demo/routes/fast',
  who: 'ada',
  via: 'token',
  credential: null,
  address: '127.0.0.1',
  request_id: 'req_1',
  workspace: 'demo',
  status: 200,
  before: null,
  after: null,
  ...part,
});

test('a difference names each field that differs, and nothing else', (t) => {
  const entry = { provider: 'openai', model: 'gpt-4o' };
  const before = { object: 'route', chain: [entry], on_crash: 'rerun', version: 'a', tags: ['x', 'y'] };
  const after = {
    ...before,
    version: 'b',
    chain: [{ ...entry, model: 'gpt-4o-mini', drop: ['seed', 'user'] }, entry],
  };
  t.deepEqual(differencesOf(before, after), [
    { field: 'chain[0].model', before: 'gpt-4o', after: 'gpt-4o-mini' },
    { field: 'chain[0].drop', before: undefined, after: 'seed, user' },
    { field: 'chain[1].provider', before: undefined, after: 'openai' },
    { field: 'chain[1].model', before: undefined, after: 'gpt-4o' },
  ]);
  t.deepEqual(differencesOf(null, { budget_usd_per_month: 5, weight: null }), [
    { field: 'budget_usd_per_month', before: undefined, after: '5' },
  ]);
});

test('a change is taken back by an ordinary request, and what cannot be is told of', (t) => {
  const chain = [{ provider: 'openai', model: 'gpt-4o' }];
  const before = {
    id: 'fast',
    object: 'route',
    chain,
    on_crash: 'fail',
    provider_batches: false,
    version: 'a',
  };
  t.like(undoOf(record({ before, after: { ...before, chain: [] } })), {
    method: 'PUT',
    path: '/workspaces/demo/routes/fast',
    body: { chain, on_crash: 'fail', provider_batches: false },
  });
  t.like(undoOf(record({ after: before })), { method: 'DELETE' });
  const limits = { budget_usd_per_month: 5, weight: null };
  const path = '/workspaces/demo/limits';
  const lowered = { budget_usd_per_month: 1, weight: null };
  t.deepEqual(
    undoOf(record({ action: 'PUT /workspaces/{id}/limits', path, before: limits, after: lowered })),
    {
      method: 'PATCH',
      path,
      body: { budget_usd_per_month: 5 },
      words: 'sets back these limits: budget_usd_per_month',
    },
  );
  const key = { id: 'key_1', name: 'ci', expires_at: null, priority: 'normal', max_priority: 'normal' };
  t.deepEqual(
    (
      undoOf(
        record({
          action: 'PATCH /keys/{id}',
          path: '/keys/key_1',
          before: key,
          after: { ...key, name: 'renamed', expires_at: '2027-01-31T00:00:00Z' },
        }),
      ) as { body: unknown }
    ).body,
    { name: 'ci', expires_at: null },
  );
  const provider = {
    name: 'acme',
    address: 'https://a/v1/x',
    key: 'stored',
    kind: 'openai',
    base_url: 'https://a/v1',
  };
  const added = {
    action: 'PUT /providers/{provider}',
    path: '/providers/acme',
    before: provider,
    after: provider,
  };
  t.like(undoOf(record(added)), {
    // Also one that waits for gateway.yaml is put back.
    path: '/providers/acme?take_over=true',
    body: { kind: 'openai', base_url: 'https://a/v1' },
  });
  const issued = { action: 'POST /workspaces/{id}/keys', path: '/workspaces/demo/keys', after: key };
  t.like(undoOf(record({ ...issued, status: 201 })), { method: 'DELETE', path: '/keys/key_1' });
  for (const part of [
    { status: 400, before },
    { action: 'PATCH /keys/{id}', before: key, after: key },
    { before: { shortened: '{' }, after: before },
    { action: 'DELETE /keys/{id}', before: key },
    { action: 'DELETE /providers/{provider}', before: provider },
    { action: 'POST /reload' },
    // The value was a key already.
    { ...issued, status: 200 },
    { action: 'DELETE /workspaces/{id}', path: '/workspaces/demo', before: { id: 'demo', name: 'Demo' } },
    { path: `/workspaces/demo/routes/aaa${CUT}`, before },
  ])
    t.true('reason' in undoOf(record(part)), part.action);
});

test('what somebody else has changed beside it stays', (t) => {
  const each = (scope: string, usd: number) => ({ scope, window: 'day', usd });
  const limits = { budget_usd_per_month: null, weight: null, budgets: [each('workspace', 9)] };
  const before = { id: 'demo', name: 'Demo', models: null, limits };
  const budgeted = { ...limits, budgets: [each('workspace', 9), each('end_user', 5)] };
  const entry = record({
    action: 'PATCH /workspaces/{id}',
    path: '/workspaces/demo',
    before,
    after: { ...before, name: 'Team', limits: budgeted },
  });
  t.like(undoOf(entry), { method: 'PATCH', words: 'gives the workspace back its name, limits' });
  const now = {
    ...before,
    name: 'Team',
    models: ['gpt-4o'],
    limits: {
      ...budgeted,
      weight: 3,
      budgets: [each('key', 1), { usd: 5, scope: 'end_user', window: 'day' }, each('workspace', 7)],
    },
  };
  t.deepEqual((undoAgainst(entry, now) as { body: unknown }).body, {
    name: 'Demo',
    limits: { budget_usd_per_month: null, weight: 3, budgets: [each('key', 1), each('workspace', 7)] },
  });
  const set = record({
    action: 'PATCH /workspaces/{id}/limits',
    path: '/workspaces/demo/limits',
    before: { ...limits, budgets: null },
    after: { ...limits, budgets: [each('end_user', 5)] },
  });
  t.like(undoAgainst(set, { ...limits, weight: 3, budgets: [each('end_user', 5)] }), {
    body: { budgets: null },
  });
});

test('what somebody else has changed since is not overwritten', (t) => {
  const reason = (entry: AuditRecord, now: unknown, who?: string) => {
    const undo = undoAgainst(entry, now, who);
    return 'reason' in undo ? undo.reason : undefined;
  };
  const each = (usd: number) => ({ scope: 'end_user', window: 'day', usd });
  const limits = { weight: null, budgets: [each(5)] };
  const lowered = record({
    action: 'PATCH /workspaces/{id}/limits',
    before: limits,
    after: { ...limits, budgets: [each(1)] },
  });
  t.is(reason(lowered, { ...limits, budgets: [each(1)] }), undefined);
  t.is(
    reason(lowered, { ...limits, budgets: [each(2)] }, 'bob'),
    'Somebody has changed this since (the last change was by bob): the budget for each end user, a day. Restore that change first, or set by hand what you want.',
  );
  const route = {
    id: 'fast',
    object: 'route',
    chain: [{ provider: 'openai', model: 'a' }],
    on_crash: 'rerun',
  };
  const other = { ...route, chain: [{ provider: 'openai', model: 'b' }] };
  const changed = record({ before: route, after: { ...other, version: '1' } });
  t.is(reason(changed, { ...other, version: '2' }), undefined);
  t.regex(reason(changed, route) ?? '', /changed this since: chain\./);
  t.regex(reason(changed, { ...other, on_crash: 'fail' }) ?? '', /changed this since: on_crash\./);
  t.regex(reason(changed, undefined) ?? '', /removed this/);
  t.regex(reason(record({ after: route }), other) ?? '', /changed this since: chain/);
  t.is(reason(record({ before: route }), undefined), undefined);
  t.regex(reason(record({ before: route }), other) ?? '', /made this anew/);
  const key = { id: 'key_1', name: 'ci', expires_at: null };
  const ends = { ...key, expires_at: '2027-01-31T00:00:00Z' };
  const expiring = record({ action: 'PATCH /keys/{id}', path: '/keys/key_1', before: key, after: ends });
  t.regex(reason(expiring, { ...ends, expires_at: '2026-11-17T00:00:00Z' }) ?? '', /expires_at/);
  t.regex(reason(expiring, undefined) ?? '', /cannot be brought back/);
  const provider = {
    name: 'acme',
    address: 'https://a',
    key: 'stored',
    kind: 'openai',
    base_url: 'https://a',
  };
  const moved = record({
    action: 'PUT /providers/{provider}',
    before: provider,
    after: { ...provider, base_url: 'https://b', new_keys: ['one'] },
  });
  t.is(reason(moved, { kind: 'openai', base_url: 'https://b' }), undefined);
  t.regex(reason(moved, { kind: 'openai', base_url: 'https://c' }) ?? '', /base_url/);
});

test('whatever can be changed of a key is put back', (t) => {
  const before = Object.fromEntries(Object.keys(keyChange.schema).map((name) => [name, `old ${name}`]));
  const undo = undoOf(record({ action: 'PATCH /keys/{id}', path: '/keys/k1', before, after: {} }));
  t.deepEqual('body' in undo && undo.body, before);
});
