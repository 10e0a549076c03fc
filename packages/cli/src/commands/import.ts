import { type Command, Option } from 'commander';
import type { Cli } from '../cli.js';
import type { ImportOptions, Source } from '../import/source.js';
import { group, withExamples } from './examples.js';

const SOURCES: Readonly<Record<Source, readonly [what: string, example: string]>> = {
  litellm: ['LiteLLM’s config.yaml', 'config.yaml'],
  portkey: ['a config of Portkey, as JSON', 'production.json'],
  bifrost: ['Bifrost’s config.json', 'config.json'],
};

export function addImportCommands(program: Command, cli: Cli): void {
  const parent = group(
    program,
    'import',
    'Make a gateway.yaml of the file of another gateway. No gateway has to run.',
    'import litellm config.yaml --output gateway.yaml',
  );
  for (const source of Object.keys(SOURCES) as Source[]) {
    const [what, example] = SOURCES[source];
    const command = parent
      .command(source)
      .description(
        `Make a gateway.yaml of ${what}. It goes to stdout; stderr lists what has no counterpart, with its line. Secrets are never copied.`,
      )
      .argument('<file>', what)
      .option('-o, --output <file>', 'write it to this file instead of stdout')
      .addOption(new Option('--force', 'overwrite the file'));
    if (source === 'portkey')
      command.option('--route <alias>', 'name of the route; default: the name of the file');
    withExamples(command, `import ${source} ${example}`, `import ${source} ${example} --output gateway.yaml`);
    command.action(async (file: string, options: ImportOptions) => {
      const { runImport } = await import('./run-import.js');
      runImport(cli, source, file, options);
    });
  }
}
