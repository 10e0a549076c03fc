import type { Key } from '@sluice/shared/admin-api';
import { CliError } from '../output/cli-error.js';
import { type AdminClient, path } from './client.js';

/**
 * The id of a key that is given by its id, or as <workspace>/<name>. If several keys have that name, `current` takes the one
 * that ends last, which is the newest after a rotation; otherwise the operator has to give an id.
 */
export async function findKeyId(
  admin: AdminClient,
  key: string,
  { current }: { current: boolean },
): Promise<string> {
  const slash = key.indexOf('/');
  if (slash < 0) return key;
  const [workspace, name] = [key.slice(0, slash), key.slice(slash + 1)];
  const named = (await admin.list<Key>(path`/workspaces/${workspace}/keys`)).filter(
    (each) => each.name === name,
  );
  const latest = Math.max(...named.map(endOf));
  const lasting = named.filter((each) => endOf(each) === latest);
  const [found, another] = current ? lasting : named;
  if (!found) throw new CliError(`workspace ${workspace} has no key named "${name}"`);
  if (another) {
    const ids = named.map(({ id, last_four }) => `${id} (…${last_four})`).join(', ');
    throw new CliError(`workspace ${workspace} has ${named.length} keys named "${name}"; give an id: ${ids}`);
  }
  return found.id;
}

function endOf({ expires_at }: Key): number {
  return expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at);
}
