import type { KeyPriority } from '@sluice/shared/contract/priority';
import type { RouteConfig } from '@sluice/shared/contract/route';
import type { Action, KeyStep, RouteStep, Step, WorkspaceFacts, WorkspaceStep } from './plan.js';
import { keyDiffers } from './plan.js';

/** Where a plan is carried out: in Redis itself, or through the admin api. */
export interface ConfigTarget {
  createWorkspace(id: string, facts: WorkspaceFacts): Promise<void>;
  changeWorkspace(id: string, facts: WorkspaceFacts): Promise<void>;
  deleteWorkspace(id: string): Promise<void>;
  putRoute(workspace: string, alias: string, route: RouteConfig): Promise<void>;
  deleteRoute(workspace: string, alias: string): Promise<void>;
  /** `value` of the result: set when the key is new. Without a `value` one is made. */
  issueKey(workspace: string, newKey: NewKey): Promise<Issued>;
  changeKey(id: string, change: KeyPriority & { name: string }): Promise<void>;
  revokeKey(id: string): Promise<void>;
}

export interface NewKey extends KeyPriority {
  name: string;
  value: string | undefined;
}

export interface Issued extends KeyPriority {
  id: string;
  name: string;
  value: string | undefined;
}

export interface Done {
  step: Step;
  /** What was done in the end. Only the gateway knows whether it has a key's value already. */
  action: Action;
  /** The value of a key that was made here; it is shown nowhere else. */
  madeValue: string | undefined;
}

/** Carries out a plan, one step after the other; each is handed out as soon as it is done. */
export async function* performSteps(target: ConfigTarget, steps: readonly Step[]): AsyncGenerator<Done> {
  /** Keys that the file wants, even if the plan wanted to remove them. */
  const wanted = new Set<string>();
  for (const step of steps) {
    if (step.kind === 'workspace') yield await performWorkspace(target, step);
    else if (step.kind === 'route') yield await performRoute(target, step);
    else yield await performKey(target, step, wanted);
  }
}

async function performWorkspace(target: ConfigTarget, step: WorkspaceStep): Promise<Done> {
  const { action, workspace, after } = step;
  if (action === 'remove') await target.deleteWorkspace(workspace);
  else if (after && action === 'create') await target.createWorkspace(workspace, after);
  else if (after && action === 'change') await target.changeWorkspace(workspace, after);
  return { step, action, madeValue: undefined };
}

async function performRoute(target: ConfigTarget, step: RouteStep): Promise<Done> {
  const { action, workspace, name, after } = step;
  if (action === 'remove') await target.deleteRoute(workspace, name);
  else if (after && action !== 'keep') await target.putRoute(workspace, name, after);
  return { step, action, madeValue: undefined };
}

async function performKey(target: ConfigTarget, step: KeyStep, wanted: Set<string>): Promise<Done> {
  const { action, workspace, name, known, value, classes } = step;
  const done = (action: Action, madeValue?: string): Done => ({ step, action, madeValue });
  if (action === 'remove') {
    if (!known || wanted.has(known.id)) return done('keep');
    await target.revokeKey(known.id);
    return done('remove');
  }
  if (action === 'skip') return done(action);
  if (value === undefined && known) {
    if (action === 'change') await target.changeKey(known.id, { name, ...classes });
    return done(action);
  }
  const issued = await target.issueKey(workspace, { name, value, ...classes });
  wanted.add(issued.id);
  if (issued.value !== undefined) return done('create', value === undefined ? issued.value : undefined);
  if (!keyDiffers(issued, name, classes)) return done('keep');
  await target.changeKey(issued.id, { name, ...classes });
  return done('change');
}
