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

/** What --since and --until take, in every command. */
export const SINCE =
  'from then on: a span such as 15m, 24h, 7d or 2w ago, a day such as 2027-01-31, or a moment such as 2027-01-31T12:00:00Z';
export const UNTIL = 'until then: written as for --since; a day is included';
