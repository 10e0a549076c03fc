/** gateway.yaml carried out through the admin api. */

import type { IssuedKey, Limits } from '@sluice/shared/admin-api';
import type { LimitsConfig } from '@sluice/shared/config/config';
import { type AdminClient, AdminRefusal, path } from '../admin/client.js';
import { readDirectory } from '../admin/read-directory.js';
import type { KnownWorkspace, WorkspaceFacts } from './plan.js';
import type { ConfigTarget } from './steps.js';

export async function readKnownWorkspaces(admin: AdminClient): Promise<KnownWorkspace[]> {
  return (await readDirectory(admin)).map(({ id, name, models, limits, routes, keys }) => ({
    id,
    name,
    models: models ?? undefined,
    limits: fromWire(limits),
    routes: new Map(routes.map(({ id, chain, on_crash }) => [id, { chain, onCrash: on_crash }])),
    keys: keys.map(({ id, name, last_four }) => ({ id, name, lastFour: last_four })),
  }));
}

export function createAdminTarget(admin: AdminClient): ConfigTarget {
  const send = async (method: string, place: string, body?: unknown): Promise<void> => {
    await admin.send(method, place, body);
  };
  const remove = async (place: string): Promise<void> => {
    await unless(404, send('DELETE', place));
  };
  return {
    async createWorkspace(id, facts) {
      const created = await unless(409, send('POST', '/workspaces', { id, ...factsToWire(facts) }));
      if (!created) await this.changeWorkspace(id, facts);
    },
    changeWorkspace: (id, facts) => send('PATCH', path`/workspaces/${id}`, factsToWire(facts)),
    deleteWorkspace: (id) => remove(path`/workspaces/${id}`),
    putRoute: (workspace, alias, { chain, onCrash }) =>
      send('PUT', path`/workspaces/${workspace}/routes/${alias}`, { chain, on_crash: onCrash }),
    deleteRoute: (workspace, alias) => remove(path`/workspaces/${workspace}/routes/${alias}`),
    async issueKey(workspace, name, value) {
      const wish = { name, value };
      const issued = await admin.send<IssuedKey>('POST', path`/workspaces/${workspace}/keys`, wish);
      return { id: issued.id, name: issued.name, value: issued.value };
    },
    renameKey: (id, name) => send('PATCH', path`/keys/${id}`, { name }),
    revokeKey: (id) => remove(path`/keys/${id}`),
  };
}

/** False when the gateway refuses with this status: somebody else, another `apply` perhaps, was faster. */
async function unless(status: number, done: Promise<void>): Promise<boolean> {
  try {
    await done;
    return true;
  } catch (error) {
    if (error instanceof AdminRefusal && error.status === status) return false;
    throw error;
  }
}

function factsToWire({ name, models, limits }: WorkspaceFacts) {
  return { name, models: models ?? null, limits: toWire(limits) };
}

export function toWire(limits: LimitsConfig): Limits {
  return {
    requests_per_minute: limits.requestsPerMinute ?? null,
    concurrent_requests: limits.concurrentRequests ?? null,
    budget_usd_per_month: limits.budgetUsdPerMonth ?? null,
    budget: limits.budget ?? null,
    unpriced_models: limits.unpricedModels ?? null,
    weight: limits.weight ?? null,
  };
}

function fromWire(limits: Limits): LimitsConfig {
  return {
    requestsPerMinute: limits.requests_per_minute ?? undefined,
    concurrentRequests: limits.concurrent_requests ?? undefined,
    budgetUsdPerMonth: limits.budget_usd_per_month ?? undefined,
    budget: limits.budget ?? undefined,
    unpricedModels: limits.unpriced_models ?? undefined,
    weight: limits.weight ?? undefined,
  };
}
