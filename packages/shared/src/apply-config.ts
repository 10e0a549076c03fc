/** Brings the workspaces, keys and routes of gateway.yaml into Redis. Applying the same file twice changes nothing. */
import type { Clock } from './clock.js';
import { type GatewayConfig, resolveWorkspaceKeys } from './config.js';
import type { Directory } from './directory.js';
import type { Env } from './env-lookup.js';
import { digestKey, displayPrefix, makeGatewayKey } from './gateway-key.js';
import { makeRequestId } from './request-id.js';

export interface MadeKey {
  workspace: string;
  name: string;
  value: string;
}

/** Keys whose variable is not set, and which Redis does not have yet, are made; their values are shown only here. */
export async function applyConfig(
  config: GatewayConfig,
  env: Env,
  directory: Directory,
  clock: Clock,
): Promise<MadeKey[]> {
  const made: MadeKey[] = [];
  for (const { id, name, routes, limits } of config.workspaces) {
    const known = await directory.findWorkspace(id);
    await directory.putWorkspace({ id, name: name ?? id, created: known?.created ?? clock.now(), limits });
    for (const [alias, route] of routes) {
      const existing = await directory.findRoute(id, alias);
      await directory.putRoute(id, alias, { ...route, created: existing?.created ?? clock.now() });
    }
  }
  for (const { workspace, name, value } of resolveWorkspaceKeys(config, env)) {
    if (value === undefined && (await directory.listKeys(workspace)).some((key) => key.name === name))
      continue;
    const key = value ?? makeGatewayKey();
    const digest = digestKey(key);
    if (!(await directory.findKey(digest))) {
      const record = {
        id: `key_${makeRequestId()}`,
        workspace,
        name,
        prefix: displayPrefix(key),
        created: clock.now(),
      };
      await directory.putKey(digest, record);
    }
    if (value === undefined) made.push({ workspace, name, value: key });
  }
  return made;
}
