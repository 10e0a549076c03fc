/** What the admin api shows of the directory's records: snake_case, moments in ISO 8601. */
import { createHash } from 'node:crypto';
import type { Key, List, Route, Workspace } from '@sluice/shared/admin-api';
import { presentLimits } from '@sluice/shared/contract/limits';
import { presentClasses } from '@sluice/shared/contract/priority';
import { presentSettings } from '@sluice/shared/contract/route';
import type { KeyRecord, RouteRecord, WorkspaceRecord } from '@sluice/shared/directory/directory';

export function list<T>(data: T[]): List<T> {
  return { object: 'list', data };
}

export function iso(time: number): string {
  return new Date(time).toISOString();
}

export function isoOrNull(time: number | null | undefined): string | null {
  return time === null || time === undefined ? null : iso(time);
}

export function presentWorkspace({ id, name, created, models, limits, shard }: WorkspaceRecord): Workspace {
  return {
    id,
    object: 'workspace',
    name,
    created_at: iso(created),
    models: models ?? null,
    limits: presentLimits(limits),
    ...(shard === undefined ? {} : { shard }),
  };
}

export function presentKey(key: KeyRecord, lastUsed: number | null): Key {
  return {
    id: key.id,
    object: 'key',
    workspace: key.workspace,
    name: key.name,
    last_four: key.lastFour,
    created_at: iso(key.created),
    created_by: key.createdBy ?? null,
    last_used_at: isoOrNull(lastUsed),
    expires_at: isoOrNull(key.expires),
    ...presentClasses(key),
  };
}

export function presentRoute(alias: string, route: RouteRecord): Route {
  return {
    id: alias,
    object: 'route',
    ...presentSettings(route),
    created_at: iso(route.created),
    version: versionOf(route),
  };
}

export function versionOf(route: RouteRecord): string {
  return createHash('sha256').update(JSON.stringify(route)).digest('base64url').slice(0, 16);
}
