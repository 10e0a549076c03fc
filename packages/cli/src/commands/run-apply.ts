/** What `sluice apply` does. It is loaded only when it is called, because reading YAML takes time to load. */
import { resolveWorkspaceKeys } from '@sluice/shared/config/config';
import { createAdminTarget, readKnownState } from '../apply/admin-target.js';
import { type Action, planConfig, type Step } from '../apply/plan.js';
import { reloadProcesses } from '../apply/reload.js';
import { nameOf, stepText, summaryText } from '../apply/step-text.js';
import { type Done, performSteps } from '../apply/steps.js';
import { configFile, readConfigFile } from '../arguments/config-file.js';
import type { Cli } from '../cli.js';
import { CliError } from '../output/cli-error.js';
import { count } from '../output/format.js';

/** Nobody reads a question with more names than these. */
const MANY = 10;

export interface ApplyOptions {
  dryRun?: boolean;
  prune?: boolean;
  yes?: boolean;
}

export async function runApply(
  cli: Cli,
  given: string | undefined,
  { dryRun = false, prune = false, yes }: ApplyOptions,
): Promise<void> {
  const { config } = await readConfigFile(configFile(given, cli.terminal), cli);
  const keys = resolveWorkspaceKeys(config, cli.terminal.env);
  // First of all: a route may name a provider that is new in the file.
  if (!dryRun) await reload(cli);
  const plan = planConfig(config, keys, await readKnownState(cli.admin, keys), { prune });
  refuseImpossible(cli, plan);
  if (dryRun) {
    report(
      cli,
      plan.map((step) => ({ step, action: step.action, madeValue: undefined })),
      true,
    );
    return;
  }
  const removals = plan.filter(({ action }) => action === 'remove');
  if (removals.length > 0) {
    if (!yes && !cli.json) for (const step of removals) cli.note(stepText(step, 'remove', cli.style));
    const what = removals.length > MANY ? `${removals.length} things` : removals.map(nameOf).join(', ');
    await cli.confirm(`Removing ${what}`, yes);
  }
  report(cli, await perform(cli, plan), false);
}

async function reload(cli: Cli): Promise<void> {
  const mistakes = await reloadProcesses(cli.admin);
  if (mistakes === undefined) cli.note('The processes were not asked to read their providers again.');
  else if (mistakes.length > 0) throw new CliError(`nothing was done\n${mistakes.join('\n')}`);
}

/** Says what the gateway would refuse, before anything is done and in a dry run, too. */
function refuseImpossible(cli: Cli, plan: readonly Step[]): void {
  const refused = plan.filter(({ action }) => action === 'refuse');
  if (refused.length === 0) return;
  if (!cli.json) for (const step of refused) cli.note(stepText(step, 'refuse', cli.style));
  const names = refused.map((step) => `${nameOf(step)}: ${'reason' in step ? step.reason : ''}`);
  throw new CliError(
    cli.json ? names.join('; ') : `nothing was done: ${count(refused.length, 'step')} refused`,
  );
}

/** Says each step as it is done, so that a failure in the middle leaves nobody guessing. */
async function perform(cli: Cli, plan: Step[]): Promise<Done[]> {
  const all: Done[] = [];
  try {
    for await (const done of performSteps(createAdminTarget(cli.admin), plan)) {
      all.push(done);
      if (!cli.json) sayDone(cli, done);
    }
  } catch (error) {
    const failed = plan[all.length];
    if (!(error instanceof CliError) || !failed) throw error;
    throw new CliError(`${nameOf(failed)}: ${error.message}`);
  }
  return all;
}

function sayDone(cli: Cli, { step, action, madeValue }: Done): void {
  cli.say(stepText(step, action, cli.style));
  if (madeValue !== undefined) cli.say(`  shown only now: ${madeValue}`);
}

function report(cli: Cli, all: Done[], dryRun: boolean): void {
  const actions = all.map(({ action }): Action => action);
  if (!cli.json) {
    if (dryRun) for (const done of all) sayDone(cli, done);
    cli.say(summaryText(actions, dryRun));
    return;
  }
  const steps = all.map(({ step, action, madeValue }) => ({
    action,
    kind: step.kind,
    workspace: step.workspace,
    name: step.kind === 'workspace' ? step.workspace : step.name,
    ...(madeValue === undefined ? {} : { value: madeValue }),
    ...('reason' in step ? { reason: step.reason } : {}),
    ...('notes' in step && step.notes?.length ? { notes: step.notes } : {}),
  }));
  cli.show({ dry_run: dryRun, steps }, () => '');
}
