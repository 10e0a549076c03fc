import { type Command, Option } from 'commander';
import type { Cli } from '../cli.js';
import { group, withExamples } from './examples.js';
import type { ImportOptions } from './run-import.js';

export function addImportCommands(program: Command, cli: Cli): void {
  const parent = group(
    program,
    'import',
    'Turn the configuration of another gateway into a gateway.yaml. No gateway has to run.',
    'import litellm config.yaml --output gateway.yaml',
  );
  const command = parent
    .command('litellm')
    .description(
      'Turn LiteLLM’s config.yaml into a gateway.yaml. It goes to stdout; stderr lists what has no counterpart, with its line. Secrets are never copied.',
    )
    .argument('<file>', 'LiteLLM’s config.yaml')
    .option('-o, --output <file>', 'write it to this file instead of stdout')
    .addOption(new Option('--force', 'overwrite the file'));
  withExamples(command, 'import litellm config.yaml', 'import litellm config.yaml --output gateway.yaml');
  command.action(async (file: string, options: ImportOptions) => {
    const { runImport } = await import('./run-import.js');
    runImport(cli, file, options);
  });
}
