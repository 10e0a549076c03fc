import type { Command } from 'commander';
import type { Cli } from '../cli.js';
import { withExamples } from './examples.js';
import type { ApplyOptions } from './run-apply.js';

export function addApplyCommand(program: Command, cli: Cli): void {
  withExamples(
    program
      .command('apply')
      .summary('Bring gateway.yaml into a running gateway. Applying it again changes nothing.')
      .description(
        'Bring the workspaces, keys, routes and limits of gateway.yaml into a running gateway. Applying it again changes nothing. Before that, every process is asked to read the providers of its own file again. The other settings are read when a process starts.',
      )
      .argument('[file]', 'default: the file that GATEWAY_CONFIG names, or gateway.yaml')
      .option('--dry-run', 'show what would be done or refused, and do nothing')
      .option('--prune', 'also remove workspaces, routes, keys (by name) and limits that are not in the file')
      .option('-y, --yes', 'do not ask before removing'),
    'apply --dry-run',
    'apply',
    'apply production.yaml --prune --yes',
  ).action(async (given: string | undefined, options: ApplyOptions) => {
    const { runApply } = await import('./run-apply.js');
    await runApply(cli, given, options);
  });
}
