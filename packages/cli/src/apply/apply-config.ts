/** Brings the workspaces, keys and routes of gateway.yaml into Redis. Applying the same file twice changes nothing. */

import { type GatewayConfig, resolveWorkspaceKeys } from '@sluice/shared/config/config';
import type { Env } from '@sluice/shared/config/env-lookup';
import type { Directory, KeyRecord } from '@sluice/shared/directory/directory';
import type { KeyDigests } from '@sluice/shared/directory/key-digests';
import { KeyIssuer } from '@sluice/shared/directory/key-issuer';
import type { Clock } from '@sluice/shared/redis/clock';
import { type KnownWorkspace, planConfig } from './plan.js';
import { type ConfigTarget, performSteps } from './steps.js';

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
  digests: KeyDigests,
): Promise<MadeKey[]> {
  const keys = resolveWorkspaceKeys(config, env);
  const steps = planConfig(config, keys, await readKnown(config, directory), { prune: false });
  const made: MadeKey[] = [];
  for await (const { step, madeValue } of performSteps(createRedisTarget(directory, clock, digests), steps))
    if (step.kind === 'key' && madeValue !== undefined)
      made.push({ workspace: step.workspace, name: step.name, value: madeValue });
  return made;
}

/** Those that the file names: the others stay as they are, and there may be many. */
async function readKnown(config: GatewayConfig, directory: Directory): Promise<KnownWorkspace[]> {
  const keysOf = new Map<string, KeyRecord[]>(config.workspaces.map(({ id }) => [id, []]));
  for (const { key } of await directory.listAllStoredKeys()) keysOf.get(key.workspace)?.push(key);
  const workspaces = (await directory.listWorkspaces()).filter(({ id }) => keysOf.has(id));
  return Promise.all(
    workspaces.map(async ({ id, name, models, limits }) => ({
      id,
      name,
      models,
      limits,
      routes: await directory.listRoutes(id),
      keys: keysOf.get(id) ?? [],
    })),
  );
}

function createRedisTarget(directory: Directory, clock: Clock, digests: KeyDigests): ConfigTarget {
  const issuer = new KeyIssuer(directory, clock, digests);
  return {
    async createWorkspace(id, facts) {
      await directory.createWorkspace({ id, ...facts, created: clock.now() });
    },
    async changeWorkspace(id, facts) {
      await directory.changeWorkspace(id, (workspace) => ({ ...workspace, ...facts }));
    },
    async deleteWorkspace(id) {
      await directory.deleteWorkspace(id);
    },
    async putRoute(workspace, alias, route) {
      const known = await directory.findRoute(workspace, alias);
      await directory.putRoute(workspace, alias, { ...route, created: known?.created ?? clock.now() });
    },
    async deleteRoute(workspace, alias) {
      await directory.deleteRoute(workspace, alias);
    },
    async issueKey(workspace, name, value) {
      const issued = await issuer.issue(workspace, { name, value });
      return { id: issued.key.id, name: issued.key.name, value: issued.value };
    },
    async renameKey(id, name) {
      await issuer.change(id, { name });
    },
    revokeKey: (id) => issuer.revoke(id),
  };
}
