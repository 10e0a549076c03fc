/** What `sluice check` does. It is loaded only when it is called, because reading YAML takes time to load. */
import { ConfigError, resolveWorkspaceKeys } from '@sluice/shared/config/config';
import { type Mistake, mistakeText } from '@sluice/shared/contract/mistakes';
import { warningsAbout } from '../apply/check-config.js';
import { configFile, readConfigFile } from '../arguments/config-file.js';
import type { Cli } from '../cli.js';
import { SaidError } from '../output/cli-error.js';
import { count } from '../output/format.js';

export async function runCheck(cli: Cli, given: string | undefined): Promise<void> {
  const file = configFile(given, cli.terminal);
  try {
    const { config, added } = await readConfigFile(file, cli);
    resolveWorkspaceKeys(config, cli.terminal.env);
    const warnings = warningsAbout(config, cli.terminal.env, { added });
    const total = {
      providers: config.providers.size,
      workspaces: config.workspaces.length,
      routes: config.workspaces.reduce((sum, { routes }) => sum + routes.size, 0),
      keys: config.workspaces.reduce((sum, { keys }) => sum + keys.length, 0),
    };
    cli.show({ file, valid: true, ...total, warnings: warnings.map(toJson), mistakes: [] }, () =>
      [
        ...warnings.map((warning) => `warning: ${mistakeText(warning)}`),
        `${file} is valid: ${count(total.providers, 'provider')}, ${count(total.workspaces, 'workspace')}, ` +
          `${count(total.routes, 'route')}, ${count(total.keys, 'key')}.`,
      ].join('\n'),
    );
  } catch (error) {
    if (!cli.json || !(error instanceof ConfigError)) throw error;
    cli.show({ file, valid: false, warnings: [], mistakes: error.mistakes.map(toJson) }, () => '');
    throw new SaidError(error.message);
  }
}

function toJson({ line, path, message }: Mistake) {
  return { line: line ?? null, path, message };
}
