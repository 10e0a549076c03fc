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
  'from then on: 15m, 2h or 7d ago, yesterday, 14:00, "yesterday 14:00", 2027-01-31 or 2027-01-31T14:00 in your time zone, or a moment with its own';
export const UNTIL = 'until then: written as for --since; a day is included';
