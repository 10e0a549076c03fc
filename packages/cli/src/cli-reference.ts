/** docs/cli.md, made of what the commands say about themselves. */
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { Cli } from './cli.js';
import { createProgram } from './program.js';

const WIDTH = 100;
/** The same in every command that has it: the page says it once. */
const COMMON = ['-h, --help', '-y, --yes', '-q, --quiet'];

export function cliReference(): string {
  const program = createReferenceProgram();
  return `# The sluice command

<!-- Written by \`npm run docs\` from the commands themselves. Do not edit. -->

It runs a gateway, and operates a running one through its admin api. In a checkout, after \`npm ci\`, it is \`npx sluice\`.
\`sluice help <command>\` shows a command with examples. Every command takes \`--json\`, which prints results and errors as
JSON. \`--yes\` (\`-y\`) answers a question beforehand, and \`--quiet\` (\`-q\`) prints the value and nothing else.

\`\`\`text
${helpOf(program)
  .slice(helpOf(program).indexOf('Environment:'))
  .replace(/^ {2}(\S+) +/gm, '  $1  ')}
\`\`\`

${program.commands.map(sectionOf).join('\n\n')}
`;
}

/** A command of the first level, with those below it. */
function sectionOf(command: Command): string {
  const below = command.commands.length > 0 ? command.commands : [command];
  const intro = command.commands.length > 0 ? [escaped(command.description()), ''] : [];
  return [`## ${command.name()}`, '', ...intro, below.map(blockOf).join('\n\n')].join('\n');
}

/** The command line, what it does, and what its options mean, and those arguments that do not explain themselves. */
function blockOf(command: Command): string {
  const help = command.createHelp();
  const rows = [
    ...help
      .visibleArguments(command)
      .map((argument) => [argument.name(), help.argumentDescription(argument)] as const)
      .filter(([, meaning]) => !/^(?:id|name) of (?:its|the) \w+$/.test(meaning)),
    ...help
      .visibleOptions(command)
      .filter(({ flags }) => !COMMON.includes(flags))
      .map((option) => [option.flags, help.optionDescription(option)] as const),
  ];
  const line = help.commandUsage(command).replace(' [options]', '');
  return [
    `\`${line}\`: ${escaped(command.description())}`,
    ...(rows.length > 0 ? [''] : []),
    ...rows.map(([name, meaning]) => `- \`${name}\`: ${escaped(meaning)}`),
  ].join('\n');
}

/** A word in angle brackets would be taken for HTML. */
function escaped(text: string): string {
  return text
    .replaceAll('<', '\\<')
    .replace(/\((?:choices|default): .*\)$/, (words) => words.replace('choices: ', '').replaceAll('"', ''));
}

/** A program that is only asked for its help. */
export function createReferenceProgram(): Command {
  const nowhere = Object.assign(new PassThrough(), { columns: WIDTH });
  return createProgram(
    new Cli({ stdin: new PassThrough(), stdout: nowhere, stderr: nowhere, env: {}, directory: '.' }),
  );
}

/** The command and all below it, in order. */
export function commandsOf(command: Command): Command[] {
  return [command, ...command.commands.flatMap(commandsOf)];
}

export function helpOf(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => WIDTH });
  command.outputHelp();
  return help.trimEnd();
}

export function namesOf(command: Command): string[] {
  return [...(command.parent ? namesOf(command.parent) : []), command.name()];
}
