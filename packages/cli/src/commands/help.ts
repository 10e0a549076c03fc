import { closest } from '@sluice/shared/contract/mistakes';
import type { Command } from 'commander';
import { UsageError } from '../output/cli-error.js';
import { withExamples } from './examples.js';

const ADMIN = 'ADMIN_URL and ADMIN_TOKEN say where the admin api is; "sluice --help" has their defaults.';
const PROCESS = 'docs/environment.md lists the variables: REDIS_URL, PORT, METRICS_PORT and others.';
const FILE = 'GATEWAY_CONFIG names the file. The variables that the file names are read, too.';

/** What each command reads from the environment; every other one reads what the admin api needs. */
const ENVIRONMENT: Record<string, string> = {
  start: PROCESS,
  api: PROCESS,
  worker: PROCESS,
  check: `${FILE}\n  ${ADMIN}`,
  apply: `${ADMIN}\n  ${FILE}`,
  import: 'nothing',
  help: 'nothing',
  completion: 'nothing',
};

/** The help of a command ends with the variables that it reads. */
export function explainEnvironment(command: Command): void {
  const text = ENVIRONMENT[command.name()] ?? ADMIN;
  for (const each of command.commands.length > 0 ? command.commands : [command])
    each.addHelpText('after', `\nEnvironment:\n  ${text}`);
}

export function addHelpCommand(program: Command): void {
  withExamples(
    program
      .command('help')
      .description('Show the help of a command.')
      .argument('[command...]', 'the command, such as keys issue; default: all commands'),
    'help keys issue',
  ).action((words: string[]) => {
    let command = program;
    for (const word of words) {
      const next = command.commands.find((each) => each.name() === word);
      if (!next) throw new UsageError(noCommand(words, word, command));
      command = next;
    }
    command.outputHelp();
  });
}

function noCommand(words: readonly string[], wrong: string, among: Command): string {
  const meant = closest(
    wrong,
    among.commands.map((each) => each.name()),
  );
  const hint = meant === undefined ? 'see "sluice help"' : `did you mean ${meant}?`;
  return `there is no command "${words.join(' ')}"; ${hint}`;
}

/** A line after the error of a wrong command line: the form of the command, or the commands that there are. */
export function explainUsage(command: Command): void {
  const names = command.commands.map((each) => each.name());
  const usage = command.createHelp().commandUsage(command);
  const line = names.length > 0 ? `Commands: ${names.join(', ')}` : `Usage: ${usage}`;
  command.showHelpAfterError(command.parent ? line : '"sluice help" lists the commands.');
  for (const each of command.commands) explainUsage(each);
}
