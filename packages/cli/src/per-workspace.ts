import type { AdminClient } from './admin-client.js';
import type { Workspace } from './admin-types.js';

const AT_ONCE = 8;

/** What `read` finds for the workspace that was named, or for each of all. */
export async function perWorkspace<T>(
  admin: AdminClient,
  workspace: string | undefined,
  read: (id: string) => Promise<T[]>,
): Promise<T[]> {
  const ids =
    workspace === undefined ? (await admin.list<Workspace>('/workspaces')).map(({ id }) => id) : [workspace];
  const found: T[] = [];
  for (let i = 0; i < ids.length; i += AT_ONCE)
    found.push(...(await Promise.all(ids.slice(i, i + AT_ONCE).map(read))).flat());
  return found;
}
