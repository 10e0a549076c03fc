/** docs/cli.md, made of what the commands say about themselves. */
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { Cli } from './cli.js';
import { createProgram } from './program.js';

const WIDTH = 100;
/** The same in every command that has it: the page says it once. */
const COMMON = ['-h, --help', '-y, --yes', '-q, --quiet'];
/** What takes no more words than this says little more than its name. */
const FEW_WORDS = 15;
const EMPTY_WORDS = ['a', 'an', 'the', 'of', 'all', 'new'];

export function cliReference(): string {
  const program = createReferenceProgram();
  const help = helpOf(program);
  const explained = new Set<string>();
  return `# The sluice command

<!-- Written by \`npm run docs\` from the commands themselves. Do not edit. -->

It runs a gateway, and operates a running one through its admin api. In a checkout, after \`npm ci\`, it is \`npx sluice\`.
Each line below begins with \`sluice\`, and only what a name does not say is explained, once. \`sluice help <command>\` says more, with examples.
Every command takes \`--json\`, for results and errors. \`--yes\` (\`-y\`) answers a question beforehand, and \`--quiet\` (\`-q\`) prints only the value.

\`\`\`text
${help.slice(help.indexOf('Environment:')).replace(/^ {2}(\S+) +/gm, '  $1  ')}
\`\`\`

${program.commands.map((command) => sectionOf(command, explained)).join('\n\n')}
`;
}

/** A command of the first level, with those below it. */
function sectionOf(command: Command, explained: Set<string>): string {
  const below = command.commands.length > 0 ? command.commands : [command];
  const intro = command.commands.length > 0 ? [escaped(command.description()), ''] : [];
  return [
    `## ${command.name()}`,
    '',
    ...intro,
    below.map((each) => blockOf(each, explained)).join('\n\n'),
  ].join('\n');
}

/** The command line, what it does, and what of it does not explain itself. `explained`: what the page has said before. */
function blockOf(command: Command, explained: Set<string>): string {
  const help = command.createHelp();
  const options = help.visibleOptions(command).filter(({ flags }) => !COMMON.includes(flags));
  const words = [
    help.commandUsage(command).replace(' [options]', '').replace('sluice ', ''),
    ...options.map(({ long, flags, argChoices, mandatory }) => {
      const [, value = ''] = / (<.*>)$/.exec(flags) ?? [];
      const word = [long, argChoices?.join('|') ?? value].filter((each) => each !== '').join(' ');
      return mandatory ? word : `[${word}]`;
    }),
  ];
  const rows = [
    ...help
      .visibleArguments(command)
      .map((argument) => [argument.name(), help.argumentDescription(argument)] as const),
    ...options.map((option) => [option.long ?? '', help.optionDescription(option)] as const),
  ]
    .map(([name, meaning]) => [name, meaning.replace(/ \(choices: [^)]*\)$/, '')] as const)
    .filter(([, meaning]) => meaning.split(' ').length > FEW_WORDS);
  const lines = rows
    .map(([name, meaning]) => `- \`${name}\`: ${escaped(meaning)}`)
    .filter((line) => !explained.has(beginningOf(line)));
  for (const line of lines) explained.add(beginningOf(line));
  const usage = `\`${words.join(' ')}\``;
  const block = saysNoMore(command) ? usage : `${usage}: ${escaped(firstSentenceOf(command.description()))}`;
  return [block, ...(lines.length > 0 ? ['', ...lines] : [])].join('\n');
}

/** Whether the description has only words of the command line, such as "List keys." of `keys list`. */
function saysNoMore(command: Command): boolean {
  const names = [...namesOf(command), ...command.registeredArguments.map((argument) => argument.name())];
  return firstSentenceOf(command.description())
    .toLowerCase()
    .replace(/\.$/, '')
    .split(' ')
    .filter((word) => !EMPTY_WORDS.includes(word))
    .every((word) => names.some((name) => stemOf(name) === stemOf(word)));
}

function stemOf(word: string): string {
  return word.replace(/(?<=ch)es$|s$/, '');
}

/** Options of one name that begin alike mean the same, but for a detail that their help has. */
function beginningOf(line: string): string {
  return line.split(' ', 5).join(' ');
}

/** The help of the command has the others. */
function firstSentenceOf(text: string): string {
  return text.split(/(?<=\.) (?=[A-Z])/, 1)[0] ?? '';
}

/** A word in angle brackets would be taken for HTML. */
function escaped(text: string): string {
  return text.replaceAll('<', '\\<');
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
