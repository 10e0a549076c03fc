/**
 * Plans the steps that bring the gateway to what gateway.yaml says. It only compares; a `ConfigTarget` acts.
 *
 * Invariant: without `prune` nothing is taken away, not even a limit or a name that the file does not mention.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ResolvedKey } from '@sluice/shared/config/config';
import type { GatewayConfig, WorkspaceConfig } from '@sluice/shared/config/gateway-config';
import { entriesOf, isGroup } from '@sluice/shared/contract/chain';
import type { LimitsConfig } from '@sluice/shared/contract/limits';
import type { KeyPriority } from '@sluice/shared/contract/priority';
import { presentSettings, type RouteConfig, type RouteEntry } from '@sluice/shared/contract/route';

export interface KnownKey extends KeyPriority {
  id: string;
  workspace: string;
  name: string;
  lastFour: string;
  /** In ms; undefined: never. */
  expires: number | undefined;
}

/** What the gateway knows of a key's value. */
export type KnownValue = { state: 'issued'; key: KnownKey } | { state: 'revoked'; revoked: number };

/** The gateway as it runs. */
export interface KnownState {
  workspaces: readonly KnownWorkspace[];
  /** The providers that routes may name. */
  providers: readonly string[];
  /** By the value; a value that is not here was never used. */
  values: ReadonlyMap<string, KnownValue>;
  /** In ms. */
  now: number;
}

/** A workspace as the gateway has it. */
export interface KnownWorkspace {
  id: string;
  name: string;
  models?: string[] | undefined;
  limits: LimitsConfig;
  /** By alias. */
  routes: ReadonlyMap<string, RouteConfig>;
  keys: readonly KnownKey[];
}

/** `skip`: the step is left out, and the others are done. `refuse`: nothing can be done at all. */
export type Action = 'create' | 'change' | 'keep' | 'remove' | 'skip' | 'refuse';

export interface WorkspaceFacts {
  name: string;
  /** What its callers may name as `model`; undefined: everything. */
  models?: string[] | undefined;
  limits: LimitsConfig;
}

export interface WorkspaceStep {
  kind: 'workspace';
  action: Action;
  workspace: string;
  before: WorkspaceFacts | undefined;
  after: WorkspaceFacts | undefined;
}

export interface RouteStep {
  kind: 'route';
  action: Action;
  workspace: string;
  name: string;
  before: RouteConfig | undefined;
  after: RouteConfig | undefined;
  /** Why it is refused. */
  reason?: string;
}

export interface KeyStep {
  kind: 'key';
  action: Action;
  workspace: string;
  name: string;
  known: KnownKey | undefined;
  /** From the environment. Undefined: the file names no variable, or it is not set. */
  value: string | undefined;
  /** Why it is skipped or refused. */
  reason?: string;
  /** Further facts that a person should know about the step. */
  notes?: string[];
  /** The classes that the file names. */
  classes: KeyPriority;
}

export type Step = WorkspaceStep | RouteStep | KeyStep;

/** Removals come last: if a step before them fails, nothing is removed. */
export function planConfig(
  config: GatewayConfig,
  keys: readonly ResolvedKey[],
  known: KnownState,
  { prune }: { prune: boolean },
): Step[] {
  const steps: Step[] = [];
  const knownById = new Map(known.workspaces.map((workspace) => [workspace.id, workspace]));
  const keysOf = new Map<string, ResolvedKey[]>(config.workspaces.map(({ id }) => [id, []]));
  for (const key of keys) keysOf.get(key.workspace)?.push(key);
  for (const wanted of config.workspaces) {
    const existing = knownById.get(wanted.id);
    steps.push(planWorkspace(wanted, existing, prune));
    for (const [alias, route] of wanted.routes)
      steps.push(planRoute(wanted.id, alias, existing?.routes.get(alias), route, known.providers));
    for (const key of keysOf.get(wanted.id) ?? []) steps.push(planKey(key, existing?.keys ?? [], known));
  }
  return prune ? [...steps, ...planRemovals(config, known.workspaces, steps)] : steps;
}

function planWorkspace(
  { id, name, models, limits }: WorkspaceConfig,
  existing: KnownWorkspace | undefined,
  prune: boolean,
): WorkspaceStep {
  const before = existing && { name: existing.name, models: existing.models, limits: existing.limits };
  const after = {
    name: name ?? existing?.name ?? id,
    models: prune ? models : (models ?? existing?.models),
    limits: before && !prune ? keepUnmentioned(before.limits, limits) : limits,
  };
  const same =
    before?.name === after.name &&
    isDeepStrictEqual(before.models, after.models) &&
    isDeepStrictEqual(mentioned(before.limits), mentioned(after.limits));
  return { kind: 'workspace', action: actionFor(before, same), workspace: id, before, after };
}

function planRoute(
  workspace: string,
  name: string,
  before: RouteConfig | undefined,
  after: RouteConfig,
  providers: readonly string[],
): RouteStep {
  const unknown = entriesOf(after.chain)
    .map(({ provider }) => provider)
    .find((name) => !providers.includes(name));
  if (unknown !== undefined) {
    const reason = `the running gateway has no provider ${unknown}; put it into the gateway.yaml of its processes, or add it with sluice providers set`;
    return { kind: 'route', action: 'refuse', workspace, name, before, after, reason };
  }
  const same = before !== undefined && isDeepStrictEqual(settingsOf(before), settingsOf(after));
  return { kind: 'route', action: actionFor(before, same), workspace, name, before, after };
}

function planKey(
  { workspace, name, variable, value, priority, maxPriority }: ResolvedKey,
  existing: readonly KnownKey[],
  { values, now }: KnownState,
): KeyStep {
  const classes = mentioned({ priority, maxPriority });
  const step = { kind: 'key', workspace, name, value, classes } as const;
  const found = value === undefined ? undefined : values.get(value);
  if (found?.state === 'revoked') {
    const reason = `the value of ${variable} was revoked on ${dateText(found.revoked)} and stays refused; set ${variable} to a new value`;
    return { ...step, action: 'skip', known: undefined, reason };
  }
  if (found && found.key.workspace !== workspace) {
    const reason = `the value of ${variable} is a key of workspace ${found.key.workspace}; set ${variable} to another value`;
    return { ...step, action: 'refuse', known: undefined, reason };
  }
  const isAlive = (key: KnownKey) => key.expires === undefined || key.expires > now;
  const sameName = existing.filter((key) => key.name === name);
  const known = value === undefined ? (sameName.find(isAlive) ?? sameName[0]) : found?.key;
  const action = actionFor(known, known !== undefined && !keyDiffers(known, name, classes));
  const notes =
    known === undefined
      ? sameName
          .filter(isAlive)
          .map(
            ({ id, lastFour }) =>
              `another key "${name}" (…${lastFour}) still works; when nobody needs it any more: sluice keys revoke ${id}`,
          )
      : isAlive(known)
        ? []
        : [`it expired on ${dateText(known.expires ?? 0)} and is refused; issue a new one`];
  return { ...step, action, known, notes };
}

function dateText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Whether a key has another name, or another class than the file names. */
export function keyDiffers(key: KeyPriority & { name: string }, name: string, classes: KeyPriority): boolean {
  const { priority, maxPriority } = { ...key, ...classes };
  return key.name !== name || key.priority !== priority || key.maxPriority !== maxPriority;
}

function planRemovals(
  config: GatewayConfig,
  known: readonly KnownWorkspace[],
  steps: readonly Step[],
): Step[] {
  const action = 'remove';
  const wanted = new Set(steps.flatMap((step) => (step.kind === 'key' && step.known ? step.known.id : [])));
  const inFileById = new Map(config.workspaces.map((workspace) => [workspace.id, workspace]));
  return known.flatMap(({ id: workspace, name, models, limits, routes, keys }): Step[] => {
    const inFile = inFileById.get(workspace);
    if (!inFile)
      return [{ kind: 'workspace', action, workspace, before: { name, models, limits }, after: undefined }];
    const names = inFile.keys.map((key) => key.name);
    return [
      ...[...routes]
        .filter(([alias]) => !inFile.routes.has(alias))
        .map(([alias, before]): Step => {
          return { kind: 'route', action, workspace, name: alias, before, after: undefined };
        }),
      ...keys
        .filter((key) => !names.includes(key.name) && !wanted.has(key.id))
        .map((key): Step => {
          return {
            kind: 'key',
            action,
            workspace,
            name: key.name,
            known: key,
            value: undefined,
            classes: {},
          };
        }),
    ];
  });
}

function actionFor(before: unknown, same: boolean): Action {
  if (before === undefined) return 'create';
  return same ? 'keep' : 'change';
}

function keepUnmentioned(before: LimitsConfig, file: LimitsConfig): LimitsConfig {
  return { ...before, ...mentioned(file) };
}

function settingsOf(route: RouteConfig): object {
  return { ...presentSettings(route), chain: route.chain.map(mentionedEntry) };
}

function mentionedEntry(entry: RouteEntry): object {
  return isGroup(entry) ? { one_of: entry.one_of.map(mentioned) } : mentioned(entry);
}

/** A field that is undefined and one that is not there say the same. */
function mentioned(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
