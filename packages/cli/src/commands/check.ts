import { ConfigError, resolveWorkspaceKeys } from '@sluice/shared/config/config';
import type { Command } from 'commander';
import { warningsAbout } from '../apply/check-config.js';
import { configFile, readConfigFile } from '../arguments/config-file.js';
import type { Cli } from '../cli.js';
import { count } from '../output/format.js';
import { withExamples } from './examples.js';

export function addCheckCommand(program: Command, cli: Cli): void {
  withExamples(
    program
      .command('check')
      .description('Check gateway.yaml, without a gateway. Shows every fault at once.')
      .argument('[file]', 'default: GATEWAY_CONFIG, or gateway.yaml'),
    'check',
    'check staging.yaml --json',
  ).action((given: string | undefined) => {
    const file = configFile(given, cli.terminal);
    try {
      const config = readConfigFile(file, cli.terminal);
      resolveWorkspaceKeys(config, cli.terminal.env);
      const warnings = warningsAbout(config, cli.terminal.env);
      const total = {
        providers: config.providers.size,
        workspaces: config.workspaces.length,
        routes: config.workspaces.reduce((sum, { routes }) => sum + routes.size, 0),
        keys: config.workspaces.reduce((sum, { keys }) => sum + keys.length, 0),
      };
      cli.show({ file, valid: true, ...total, warnings, faults: [] }, () =>
        [
          ...warnings.map((warning) => `warning: ${warning}`),
          `${file} is valid: ${count(total.providers, 'provider')}, ${count(total.workspaces, 'workspace')}, ` +
            `${count(total.routes, 'route')}, ${count(total.keys, 'key')}.`,
        ].join('\n'),
      );
    } catch (error) {
      if (cli.json && error instanceof ConfigError)
        cli.show({ file, valid: false, warnings: [], faults: error.faults }, () => '');
      throw error;
    }
  });
}
