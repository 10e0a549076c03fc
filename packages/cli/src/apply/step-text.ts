/** A step of `sluice apply` in one line, and all of them in one. */

import { presentLimits } from '@sluice/shared/contract/limits';
import { chainText } from '../arguments/chain-text.js';
import type { Paint, Style } from '../output/style.js';
import type { Action, KeyStep, RouteStep, Step, WorkspaceFacts, WorkspaceStep } from './plan.js';

const MARK: Record<Action, string> = {
  create: '+',
  change: '~',
  keep: '=',
  remove: '-',
  skip: '!',
  refuse: '!',
};

export function stepText(step: Step, action: Action, style: Style): string {
  const details = action === 'keep' ? '' : detailsOf(step, action);
  const line = `${MARK[action]} ${action.padEnd(6)} ${nameOf(step)}${details && `: ${details}`}`;
  const notes = (step.kind === 'key' && step.notes) || [];
  return [paintFor(action, style)(line), ...notes.map((note) => `  note: ${note}`)].join('\n');
}

function paintFor(action: Action, style: Style): Paint {
  if (action === 'create') return style.good;
  if (action === 'keep') return style.faint;
  return action === 'change' ? (line) => line : style.bad;
}

export function nameOf(step: Step): string {
  if (step.kind === 'workspace') return `workspace ${step.workspace}`;
  return `${step.kind} ${step.kind === 'key' ? `"${step.name}"` : step.name} of workspace ${step.workspace}`;
}

/** `+ 2 created, ~ 1 changed, = 3 left`, or what would be. */
export function summaryText(actions: readonly Action[], dryRun: boolean): string {
  const number = (action: Action) => actions.filter((each) => each === action).length;
  const counts = `${number('create')} to create, ${number('change')} to change, ${number('keep')} as they are, ${number('remove')} to remove`;
  const done = `${number('create')} created, ${number('change')} changed, ${number('keep')} as they were, ${number('remove')} removed`;
  const skipped = number('skip') === 0 ? '' : `, ${number('skip')} skipped`;
  return dryRun ? `Nothing was done: ${counts}${skipped}.` : `Applied: ${done}${skipped}.`;
}

export function detailsOf(step: Step, action: Action): string {
  if (step.kind === 'workspace') return workspaceDetails(step);
  if (step.reason !== undefined) return step.reason;
  if (step.kind === 'route') return routeDetails(step);
  if (action === 'create') return step.value === undefined ? 'a new value' : 'the value from the environment';
  return action === 'change' ? keyChange(step) : (step.known?.id ?? '');
}

function keyChange({ name, known, classes }: KeyStep): string {
  const { priority, maxPriority } = { ...known, ...classes };
  return [
    known?.name === name ? [] : `renamed from "${known?.name ?? ''}"`,
    known?.priority === priority ? [] : `priority ${priority}`,
    known?.maxPriority === maxPriority ? [] : `max_priority ${maxPriority}`,
  ]
    .flat()
    .join(', ');
}

function workspaceDetails({ action, before, after }: WorkspaceStep): string {
  if (action === 'remove') return 'with its keys and routes';
  const was = before && facts(before);
  return Object.entries(after ? facts(after) : {})
    .filter(([name, value]) => (was ? was[name] !== value : value !== 'none' && name !== 'name'))
    .map(([name, value]) => (was ? `${name} ${was[name]} → ${value}` : `${name} ${value}`))
    .join(', ');
}

function facts({ name, models, limits }: WorkspaceFacts): Record<string, string> {
  const numbers = Object.entries(presentLimits(limits)).map(([key, value]) => [key, String(value ?? 'none')]);
  return {
    name: JSON.stringify(name),
    models: models?.join(', ') ?? 'none',
    ...Object.fromEntries(numbers),
  };
}

function routeDetails({ action, before, after }: RouteStep): string {
  const text = (route: RouteStep['after']) =>
    route
      ? `${chainText(route.chain)}${route.onCrash === 'rerun' ? '' : ` (on crash: ${route.onCrash})`}${route.providerBatches ? ' (provider batches)' : ''}${route.warmPrefixTokens ? ` (warm prefix: ${route.warmPrefixTokens} tokens)` : ''}`
      : '';
  return action === 'change'
    ? `${text(before)} → ${text(after)}`
    : text(action === 'remove' ? before : after);
}
