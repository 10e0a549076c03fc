/** docs/cli.md, made of what the commands say about themselves. */
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { Cli } from './cli.js';
import { createProgram } from './program.js';

const WIDTH = 100;

export function cliReference(): string {
  const sections = commandsOf(createReferenceProgram()).map((command) => {
    const depth = namesOf(command).length;
    return [
      `${'#'.repeat(Math.min(depth + 1, 4))} ${namesOf(command).join(' ')}`,
      '',
      '```text',
      helpOf(command),
      '```',
    ];
  });
  return `${[
    '# The sluice command',
    '',
    '<!-- Written by `npm run docs` from the commands themselves. Do not edit. -->',
    '',
    'In a checkout, after `npm ci`: `npx sluice <command>`. It speaks to the admin api of a running gateway.',
    '',
    ...sections.flatMap((lines) => [...lines, '']),
  ]
    .join('\n')
    .trimEnd()}\n`;
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
