import type { Command } from 'commander';

/** Every command's help ends in lines that can be pasted. */
export function withExamples(command: Command, ...examples: string[]): Command {
  return command.addHelpText(
    'after',
    `\nExamples:\n${examples.map((each) => `  $ sluice ${each}`).join('\n')}`,
  );
}

/** A command that only holds others. */
export function group(parent: Command, name: string, description: string, ...examples: string[]): Command {
  return withExamples(parent.command(name).description(description), ...examples);
}
