import type { AuditRecord } from '@sluice/shared/admin-api';
import { keyChange } from '@sluice/shared/contract/key';
import { differencesOf, undoOf } from '@sluice/shared/contract/undo';
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
  t.deepEqual((undoOf(record(added)) as { body: unknown }).body, {
    kind: 'openai',
    base_url: 'https://a/v1',
  });
  for (const part of [
    { status: 400, before },
    { action: 'PATCH /keys/{id}', before: key, after: key },
    { before: { shortened: '{' }, after: before },
    { action: 'DELETE /keys/{id}', before: key },
    { action: 'DELETE /providers/{provider}', before: provider },
    { action: 'POST /reload' },
  ])
    t.true('reason' in undoOf(record(part)), part.action);
});

test('what somebody else has changed since stays', (t) => {
  const before = { id: 'demo', name: 'Demo', models: null, limits: { budget_usd_per_month: null } };
  const renamed = record({
    action: 'PATCH /workspaces/{id}',
    path: '/workspaces/demo',
    before,
    after: { ...before, name: 'Team' },
  });
  t.like(undoOf(renamed), { method: 'PATCH', words: 'gives the workspace back its name' });
  t.deepEqual((undoOf(renamed) as { body: unknown }).body, { name: 'Demo' });
});

test('whatever can be changed of a key is put back', (t) => {
  const before = Object.fromEntries(Object.keys(keyChange.schema).map((name) => [name, `old ${name}`]));
  const undo = undoOf(record({ action: 'PATCH /keys/{id}', path: '/keys/k1', before, after: {} }));
  t.deepEqual('body' in undo && undo.body, before);
});
