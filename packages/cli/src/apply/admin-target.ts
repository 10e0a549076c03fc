/** gateway.yaml carried out through the admin api. */

import type { IssuedKey, Key, KeySearch } from '@sluice/shared/admin-api';
import type { ResolvedKey } from '@sluice/shared/config/config';
import { presentLimits, toLimits } from '@sluice/shared/contract/limits';
import { toSnake } from '@sluice/shared/contract/names';
import { classesOf } from '@sluice/shared/contract/priority';
import { toRoute } from '@sluice/shared/contract/route';
import { type AdminClient, AdminRefusal, path } from '../admin/client.js';
import { readDirectory, type WholeWorkspace } from '../admin/read-directory.js';
import type { KnownKey, KnownState, KnownValue, KnownWorkspace, WorkspaceFacts } from './plan.js';
import type { ConfigTarget } from './steps.js';

/** As many key values as the admin api takes in one call. */
const AT_ONCE = 1000;

/** What the gateway has now, and what it knows of these key values. */
export async function readKnownState(
  admin: AdminClient,
  wanted: readonly ResolvedKey[],
): Promise<KnownState> {
  const { providers, workspaces } = await readDirectory(admin);
  const values = wanted.flatMap(({ value }) => value ?? []);
  return {
    providers,
    workspaces: workspaces.map(toKnownWorkspace),
    values: await findValues(admin, values),
    now: Date.now(),
  };
}

async function findValues(admin: AdminClient, values: readonly string[]): Promise<Map<string, KnownValue>> {
  const known = new Map<string, KnownValue>();
  for (let i = 0; i < values.length; i += AT_ONCE) {
    const part = values.slice(i, i + AT_ONCE);
    const { data } = await admin.send<{ data: KeySearch[] }>('POST', '/keys/find', { values: part });
    for (const [j, { key, revoked_at }] of data.entries()) {
      if (key) known.set(part[j] ?? '', { state: 'issued', key: toKnownKey(key) });
      else if (revoked_at !== null)
        known.set(part[j] ?? '', { state: 'revoked', revoked: Date.parse(revoked_at) });
    }
  }
  return known;
}

function toKnownKey(key: Key): KnownKey {
  const { id, workspace, last_four, expires_at } = key;
  const expires = expires_at === null ? undefined : Date.parse(expires_at);
  return { id, workspace, lastFour: last_four, expires, ...factsOfKey(key) };
}

function toKnownWorkspace({ id, name, models, limits, routes, keys }: WholeWorkspace): KnownWorkspace {
  return {
    id,
    name,
    models: models ?? undefined,
    limits: toLimits(limits),
    routes: new Map(routes.map((route) => [route.id, toRoute(route)])),
    keys: keys.map(toKnownKey),
  };
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
      const creation = send('POST', '/workspaces', { id, ...factsToWire(facts) });
      // When there is nothing to change either, the id is still that of a deleted workspace, and the refusal says so.
      if (!(await unless(409, creation)) && !(await unless(404, this.changeWorkspace(id, facts))))
        await creation;
    },
    changeWorkspace: (id, facts) => send('PATCH', path`/workspaces/${id}`, factsToWire(facts)),
    deleteWorkspace: (id) => remove(path`/workspaces/${id}`),
    putRoute: (workspace, alias, route) =>
      send('PUT', path`/workspaces/${workspace}/routes/${alias}`, toSnake(route)),
    deleteRoute: (workspace, alias) => remove(path`/workspaces/${workspace}/routes/${alias}`),
    async issueKey(workspace, newKey) {
      const issued = await admin.send<IssuedKey>(
        'POST',
        path`/workspaces/${workspace}/keys`,
        toSnake(newKey),
      );
      return { id: issued.id, value: issued.value, ...factsOfKey(issued) };
    },
    changeKey: (id, change) => send('PATCH', path`/keys/${id}`, toSnake(change)),
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

function factsOfKey(key: Key) {
  return { name: key.name, ...classesOf(key) };
}

function factsToWire({ name, models, limits }: WorkspaceFacts) {
  return { name, models: models ?? null, limits: presentLimits(limits) };
}
