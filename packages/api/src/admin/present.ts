/** What the admin api shows of the directory's records: snake_case, moments in ISO 8601. */
import type { LimitsConfig } from '@sluice/shared/config/config';
import type { KeyRecord, RouteRecord, WorkspaceRecord } from '@sluice/shared/directory/directory';

export function list<T>(data: T[]) {
  return { object: 'list' as const, data };
}

export function isoOrNull(time: number | null | undefined): string | null {
  return time === null || time === undefined ? null : new Date(time).toISOString();
}

export function presentWorkspace({ id, name, created, models, limits }: WorkspaceRecord) {
  return {
    id,
    object: 'workspace' as const,
    name,
    created_at: isoOrNull(created),
    models: models ?? null,
    limits: presentLimits(limits),
  };
}

export function presentLimits(limits: LimitsConfig) {
  return {
    requests_per_minute: limits.requestsPerMinute ?? null,
    concurrent_requests: limits.concurrentRequests ?? null,
    budget_usd_per_month: limits.budgetUsdPerMonth ?? null,
    budget: limits.budget ?? null,
    unpriced_models: limits.unpricedModels ?? null,
    weight: limits.weight ?? null,
  };
}

export function presentKey(key: KeyRecord, lastUsed: number | null) {
  return {
    id: key.id,
    object: 'key' as const,
    workspace: key.workspace,
    name: key.name,
    last_four: key.lastFour,
    created_at: isoOrNull(key.created),
    last_used_at: isoOrNull(lastUsed),
    expires_at: isoOrNull(key.expires),
  };
}

export function presentRoute(alias: string, { chain, onCrash, created }: RouteRecord) {
  return {
    id: alias,
    object: 'route' as const,
    chain,
    on_crash: onCrash,
    created_at: isoOrNull(created),
  };
}
