/** Brings the workspaces, keys and routes of gateway.yaml into Redis. Applying the same file twice changes nothing. */

import { type ResolvedKey, resolveWorkspaceKeys } from '@sluice/shared/config/config';
import type { Env } from '@sluice/shared/config/env-lookup';
import type { GatewayConfig, WorkspaceConfig } from '@sluice/shared/config/gateway-config';
import { type Directory, deletedAt, type KeyRecord } from '@sluice/shared/directory/directory';
import type { KeyDigests } from '@sluice/shared/directory/key-digests';
import { KeyIssuer } from '@sluice/shared/directory/key-issuer';
import type { Clock } from '@sluice/shared/redis/clock';
import { type KnownKey, type KnownState, type KnownValue, planConfig } from './plan.js';
import { detailsOf, nameOf } from './step-text.js';
import { type ConfigTarget, performSteps } from './steps.js';

export interface MadeKey {
  workspace: string;
  name: string;
  value: string;
}

export interface Applied {
  made: MadeKey[];
  /** What was left out, and what else a person should know, a sentence each. */
  notes: string[];
}

/**
 * Keys whose variable is not set, and which Redis does not have yet, are made; their values are shown only here. `added`: the
 * providers beside the file, which its routes may name.
 */
export async function applyConfig(
  config: GatewayConfig,
  env: Env,
  directory: Directory,
  clock: Clock,
  digests: KeyDigests,
  added: readonly string[] = [],
): Promise<Applied> {
  const keys = resolveWorkspaceKeys(config, env);
  const issuer = new KeyIssuer(directory, clock, digests);
  const providers = [...config.providers.keys(), ...added];
  const known = { ...(await readKnown(config, keys, directory, issuer, clock)), providers };
  const applied: Applied = { made: [], notes: [] };
  const workspaces: WorkspaceConfig[] = [];
  for (const workspace of config.workspaces) {
    const { id } = workspace;
    const deleted = known.workspaces.some((each) => each.id === id)
      ? undefined
      : await directory.findDeleted(id);
    if (!deleted) workspaces.push(workspace);
    else
      applied.notes.push(
        `workspace ${id} was deleted on ${new Date(deleted.deleted).toISOString()} and is left out; to have it again, without its log and spend: sluice workspaces delete ${id} --erase, then sluice workspaces create ${id}`,
      );
  }
  const isWanted = ({ workspace }: ResolvedKey) => workspaces.some(({ id }) => id === workspace);
  const steps = planConfig({ ...config, workspaces }, keys.filter(isWanted), known, { prune: false });
  const target = createRedisTarget(directory, clock, issuer, config.request);
  for await (const { step, action, madeValue } of performSteps(target, steps)) {
    if (action === 'change' && step.kind !== 'key')
      applied.notes.push(
        `${nameOf(step)} was changed to what gateway.yaml says (${detailsOf(step, action)})`,
      );
    if (step.kind !== 'key') continue;
    if (madeValue !== undefined)
      applied.made.push({ workspace: step.workspace, name: step.name, value: madeValue });
    const notes = [...(step.reason === undefined ? [] : [step.reason]), ...(step.notes ?? [])];
    applied.notes.push(...notes.map((note) => `${nameOf(step)}: ${note}`));
  }
  return applied;
}

/** The workspaces that the file names: the others stay as they are, and there may be many. */
async function readKnown(
  config: GatewayConfig,
  wanted: readonly ResolvedKey[],
  directory: Directory,
  issuer: KeyIssuer,
  clock: Clock,
): Promise<Omit<KnownState, 'providers'>> {
  const keysOf = new Map<string, KnownKey[]>(config.workspaces.map(({ id }) => [id, []]));
  for (const { key } of await directory.listAllStoredKeys()) keysOf.get(key.workspace)?.push(toKnownKey(key));
  const values = new Map<string, KnownValue>();
  for (const { value } of wanted) {
    const found = value === undefined ? undefined : await issuer.find(value);
    if (value === undefined || !found || found.state === 'unused') continue;
    values.set(
      value,
      found.state === 'revoked' ? found : { state: 'issued', key: toKnownKey(found.stored.key) },
    );
  }
  const stored = (await directory.listWorkspaces()).filter(({ id }) => keysOf.has(id));
  const workspaces = await Promise.all(
    stored.map(async ({ id, name, models, limits }) => ({
      id,
      name,
      models,
      limits,
      routes: await directory.listRoutes(id),
      keys: keysOf.get(id) ?? [],
    })),
  );
  return { workspaces, values, now: clock.now() };
}

function toKnownKey({ id, workspace, name, lastFour, expires }: KeyRecord): KnownKey {
  return { id, workspace, name, lastFour, expires };
}

function createRedisTarget(
  directory: Directory,
  clock: Clock,
  issuer: KeyIssuer,
  request: GatewayConfig['request'],
): ConfigTarget {
  return {
    async createWorkspace(id, facts) {
      await directory.createWorkspace({ id, ...facts, created: clock.now() });
    },
    async changeWorkspace(id, facts) {
      await directory.changeWorkspace(id, (workspace) => ({ ...workspace, ...facts }));
    },
    async deleteWorkspace(id) {
      await directory.deleteWorkspace(id, deletedAt(clock.now(), request));
    },
    async putRoute(workspace, alias, route) {
      const known = await directory.findRoute(workspace, alias);
      await directory.putRoute(workspace, alias, { ...route, created: known?.created ?? clock.now() });
    },
    async deleteRoute(workspace, alias) {
      await directory.deleteRoute(workspace, alias);
    },
    async issueKey(workspace, newKey) {
      const { key, value } = await issuer.issue(workspace, { ...newKey, createdBy: 'gateway.yaml' });
      return { ...key, value };
    },
    async changeKey(id, change) {
      await issuer.change(id, change);
    },
    revokeKey: (id) => issuer.revoke(id),
  };
}
