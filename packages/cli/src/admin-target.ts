/** gateway.yaml carried out through the admin api. */
import type { LimitsConfig } from '@sluice/shared/config';
import type { KnownWorkspace, WorkspaceFacts } from '@sluice/shared/config-plan';
import type { ConfigTarget } from '@sluice/shared/config-steps';
import { type AdminClient, path } from './admin-client.js';
import type { IssuedKey, Key, Limits, Route, Workspace } from './admin-types.js';

export async function readKnownWorkspaces(admin: AdminClient): Promise<KnownWorkspace[]> {
  const known: KnownWorkspace[] = [];
  for (const { id, name, limits } of await admin.list<Workspace>('/workspaces')) {
    const routes = await admin.list<Route>(path`/workspaces/${id}/routes`);
    known.push({
      id,
      name,
      limits: fromWire(limits),
      routes: new Map(routes.map(({ id, chain, on_crash }) => [id, { chain, onCrash: on_crash }])),
      keys: await admin.list<Key>(path`/workspaces/${id}/keys`),
    });
  }
  return known;
}

export function createAdminTarget(admin: AdminClient): ConfigTarget {
  const send = async (method: string, place: string, body?: unknown): Promise<void> => {
    await admin.send(method, place, body);
  };
  return {
    createWorkspace: (id, facts) => send('POST', '/workspaces', { id, ...factsToWire(facts) }),
    changeWorkspace: (id, facts) => send('PATCH', path`/workspaces/${id}`, factsToWire(facts)),
    deleteWorkspace: (id) => send('DELETE', path`/workspaces/${id}`),
    putRoute: (workspace, alias, { chain, onCrash }) =>
      send('PUT', path`/workspaces/${workspace}/routes/${alias}`, { chain, on_crash: onCrash }),
    deleteRoute: (workspace, alias) => send('DELETE', path`/workspaces/${workspace}/routes/${alias}`),
    async issueKey(workspace, name, value) {
      const wish = { name, value };
      const issued = await admin.send<IssuedKey>('POST', path`/workspaces/${workspace}/keys`, wish);
      return { id: issued.id, name: issued.name, value: issued.value };
    },
    renameKey: (id, name) => send('PATCH', path`/keys/${id}`, { name }),
    revokeKey: (id) => send('DELETE', path`/keys/${id}`),
  };
}

function factsToWire({ name, limits }: WorkspaceFacts) {
  return { name, limits: toWire(limits) };
}

export function toWire(limits: LimitsConfig): Limits {
  return {
    requests_per_minute: limits.requestsPerMinute ?? null,
    concurrent_requests: limits.concurrentRequests ?? null,
    budget_usd_per_month: limits.budgetUsdPerMonth ?? null,
  };
}

function fromWire(limits: Limits): LimitsConfig {
  return {
    requestsPerMinute: limits.requests_per_minute ?? undefined,
    concurrentRequests: limits.concurrent_requests ?? undefined,
    budgetUsdPerMonth: limits.budget_usd_per_month ?? undefined,
  };
}
