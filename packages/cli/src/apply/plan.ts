/**
 * What has to be done so that the gateway has what gateway.yaml says. Pure: it compares, and `ConfigTarget`s act.
 *
 * Invariant: without `prune` nothing is taken away, a limit or a name that the file does not mention included.
 */
import { isDeepStrictEqual } from 'node:util';
import type {
  GatewayConfig,
  LimitsConfig,
  ResolvedKey,
  RouteConfig,
  WorkspaceConfig,
} from '@sluice/shared/config/config';
import { lastFour } from '@sluice/shared/config/gateway-key';

export interface KnownKey {
  id: string;
  name: string;
  lastFour: string;
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

export type Action = 'create' | 'change' | 'keep' | 'remove';

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
}

export interface KeyStep {
  kind: 'key';
  action: Action;
  workspace: string;
  name: string;
  known: KnownKey | undefined;
  /** From the environment. Undefined: the file names no variable, or it is not set. */
  value: string | undefined;
}

export type Step = WorkspaceStep | RouteStep | KeyStep;

/** Removals come last, so that whatever goes wrong before them takes nothing away. */
export function planConfig(
  config: GatewayConfig,
  keys: readonly ResolvedKey[],
  known: readonly KnownWorkspace[],
  { prune }: { prune: boolean },
): Step[] {
  const steps: Step[] = [];
  const knownById = new Map(known.map((workspace) => [workspace.id, workspace]));
  const keysOf = new Map<string, ResolvedKey[]>(config.workspaces.map(({ id }) => [id, []]));
  for (const key of keys) keysOf.get(key.workspace)?.push(key);
  for (const wanted of config.workspaces) {
    const existing = knownById.get(wanted.id);
    steps.push(planWorkspace(wanted, existing, prune));
    for (const [alias, route] of wanted.routes)
      steps.push(planRoute(wanted.id, alias, existing?.routes.get(alias), route));
    for (const key of keysOf.get(wanted.id) ?? []) steps.push(planKey(key, existing?.keys ?? []));
  }
  return prune ? [...steps, ...planRemovals(config, known, steps)] : steps;
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
): RouteStep {
  const same =
    before?.onCrash === after.onCrash &&
    isDeepStrictEqual(before.chain.map(mentioned), after.chain.map(mentioned));
  return { kind: 'route', action: actionFor(before, same), workspace, name, before, after };
}

/** A value is recognised by its last four characters here, which is nearly always right; whoever acts compares the whole of it. */
function planKey({ workspace, name, value }: ResolvedKey, existing: readonly KnownKey[]): KeyStep {
  const candidates =
    value === undefined
      ? existing.filter((key) => key.name === name)
      : existing.filter((key) => key.lastFour === lastFour(value));
  const known = candidates.find((key) => key.name === name) ?? candidates[0];
  return { kind: 'key', action: actionFor(known, known?.name === name), workspace, name, known, value };
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
          return { kind: 'key', action, workspace, name: key.name, known: key, value: undefined };
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

/** A field that is undefined and one that is not there say the same. */
function mentioned(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
