import { type KnownWorkspace, planConfig, type Step } from '@sluice/cli/apply/plan';
import { type ConfigTarget, performSteps } from '@sluice/cli/apply/steps';
import type { GatewayConfig, LimitsConfig } from '@sluice/shared/config/config';
import { parseConfig, resolveWorkspaceKeys } from '@sluice/shared/config/config';
import { lastFour, makeGatewayKey } from '@sluice/shared/config/gateway-key';
import test from 'ava';

const NONE: LimitsConfig = {
  requestsPerMinute: undefined,
  concurrentRequests: undefined,
  budgetUsdPerMonth: undefined,
};
const known = (parts: Partial<KnownWorkspace> = {}): KnownWorkspace => {
  return { id: 'demo', name: 'demo', limits: NONE, routes: new Map(), keys: [], ...parts };
};
const configOf = (...workspaces: unknown[]): GatewayConfig => parseConfig({ workspaces }, {});
const plan = (config: GatewayConfig, state: KnownWorkspace[], env = {}, prune = false) =>
  planConfig(config, resolveWorkspaceKeys(config, env), state, { prune });
const told = (steps: Step[]) =>
  steps.map(
    (step) => `${step.action} ${step.kind} ${step.kind === 'workspace' ? step.workspace : step.name}`,
  );

test('an empty file keeps everything, and with prune removes everything', (t) => {
  const state = [known(), known({ id: 'other' })];
  t.deepEqual(told(plan(configOf(), state)), []);
  t.deepEqual(told(plan(configOf(), state, {}, true)), ['remove workspace demo', 'remove workspace other']);
});

test('names and limits that the file does not mention stay, and with prune limits go', (t) => {
  const state = [known({ name: 'By hand', limits: { ...NONE, budgetUsdPerMonth: 5 } })];
  t.deepEqual(told(plan(configOf({ id: 'demo' }), state)), ['keep workspace demo']);
  const limited = plan(configOf({ id: 'demo', limits: { requests_per_minute: 1 } }), state);
  t.like(limited[0], { action: 'change', after: { limits: { requestsPerMinute: 1, budgetUsdPerMonth: 5 } } });
  const pruned = plan(configOf({ id: 'demo' }), state, {}, true);
  t.like(pruned[0], {
    action: 'change',
    after: { name: 'By hand', limits: { budgetUsdPerMonth: undefined } },
  });
});

test('a key without a value is known by its name; one with a value by the value', (t) => {
  const [old, fresh] = [makeGatewayKey(), makeGatewayKey()];
  const state = [known({ keys: [{ id: 'key_1', name: 'main', lastFour: lastFour(old) }] })];
  const config = configOf({ id: 'demo', keys: [{ name: 'main', value: '${K}' }] });
  t.deepEqual(told(plan(config, state)).slice(1), ['keep key main']);
  t.deepEqual(told(plan(config, state, { K: old })).slice(1), ['keep key main']);
  t.deepEqual(told(plan(config, state, { K: fresh })).slice(1), ['create key main']);
  const renamed = configOf({ id: 'demo', keys: [{ name: 'new', value: '${K}' }] });
  t.deepEqual(told(plan(renamed, state, { K: old }, true)).slice(1), ['change key new']);
  t.deepEqual(told(plan(renamed, state, { K: fresh }, true)).slice(1), ['create key new', 'remove key main']);
});

test('a key that turns out to be wanted is not revoked, whatever the plan took it for', async (t) => {
  const config = configOf({ id: 'demo', keys: [{ name: 'new', value: '${K}' }] });
  // The last characters do not tell that it is the same key.
  const state = [known({ keys: [{ id: 'key_1', name: 'main', lastFour: 'othe' }] })];
  const steps = plan(config, state, { K: makeGatewayKey() }, true);
  t.deepEqual(told(steps).slice(1), ['create key new', 'remove key main']);
  const calls: string[] = [];
  const target = {
    issueKey: async () => ({ id: 'key_1', name: 'main', value: undefined }),
    renameKey: async (id: string, name: string) => void calls.push(`rename ${id} ${name}`),
    revokeKey: async (id: string) => void calls.push(`revoke ${id}`),
  } as Partial<ConfigTarget> as ConfigTarget;
  const actions: string[] = [];
  for await (const { action } of performSteps(target, steps)) actions.push(action);
  t.deepEqual(actions, ['keep', 'change', 'keep']);
  t.deepEqual(calls, ['rename key_1 new']);
});
