import type { Command } from 'commander';
import type { Cli } from '../cli.js';
import { withExamples } from './examples.js';

export function addCheckCommand(program: Command, cli: Cli): void {
  withExamples(
    program
      .command('check')
      .summary('Check gateway.yaml. No gateway has to run.')
      .description(
        'Check gateway.yaml. No gateway has to run, unless a route leads to a provider that was added beside the file: then the gateway is asked for its providers. All mistakes are shown at once, each with its line, and warnings about what is probably not meant. Exit status: 0 the file is valid, 1 it is not.',
      )
      .argument('[file]', 'default: the file that GATEWAY_CONFIG names, or gateway.yaml'),
    'check',
    'check staging.yaml --json',
  ).action(async (given: string | undefined) => {
    const { runCheck } = await import('./run-check.js');
    await runCheck(cli, given);
  });
}
