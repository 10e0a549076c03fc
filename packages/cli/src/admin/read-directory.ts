import type { DirectoryOverview, Key, PlacedRoute, Workspace } from '@sluice/shared/admin-api';
import type { AdminClient } from './client.js';

export interface WholeWorkspace extends Workspace {
  routes: PlacedRoute[];
  keys: Key[];
}

export interface WholeDirectory {
  /** The providers of the gateway that runs. */
  providers: string[];
  workspaces: WholeWorkspace[];
}

/** Every workspace with its routes and keys: one call, however many there are. */
export async function readDirectory(admin: AdminClient): Promise<WholeDirectory> {
  const { providers, workspaces, routes, keys } = await admin.get<DirectoryOverview>('/directory');
  const [routesOf, keysOf] = [byWorkspace(routes), byWorkspace(keys)];
  const whole = workspaces.map((workspace) => ({
    ...workspace,
    routes: routesOf.get(workspace.id) ?? [],
    keys: keysOf.get(workspace.id) ?? [],
  }));
  return { providers, workspaces: whole };
}

function byWorkspace<T extends { workspace: string }>(items: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(item.workspace);
    if (group) group.push(item);
    else groups.set(item.workspace, [item]);
  }
  return groups;
}
