/** What `sluice import` does. It is loaded only when it is called, because reading YAML takes time to load. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { mistakeText } from '@sluice/shared/contract/mistakes';
import type { Cli } from '../cli.js';
import { ForeignFile } from '../import/foreign-file.js';
import { importLitellm } from '../import/litellm.js';
import { CliError, UsageError } from '../output/cli-error.js';
import { count } from '../output/format.js';

const MOST_BYTES = 4 * 1024 * 1024;

export interface ImportOptions {
  output?: string;
  force?: boolean;
}

export function runImport(cli: Cli, name: string, options: ImportOptions): void {
  const { output } = options;
  const path = resolve(cli.terminal.directory, name);
  if (output !== undefined && isSameFile(path, resolve(cli.terminal.directory, output)))
    throw new UsageError(`${output} is the file to import; write to another one`);
  const file = new ForeignFile(name, readText(path, name));
  const draft = importLitellm(file);
  const text = draft.toText('litellm');
  const notes = file.notes.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
  if (output !== undefined) write(resolve(cli.terminal.directory, output), output, text, options.force);
  if (cli.json) {
    cli.show({ output: output ?? null, gateway_yaml: text, variables: draft.variables, notes }, () => '');
    return;
  }
  if (output === undefined) cli.terminal.stdout.write(text);
  for (const note of notes) cli.note(mistakeText(note));
  if (output !== undefined)
    cli.note(
      `Wrote ${output}: ${count(draft.providers.size, 'provider')}, ${count(draft.workspaces.length, 'workspace')}.`,
    );
  cli.note(
    notes.length === 0
      ? 'Everything has a counterpart.'
      : `${count(notes.length, 'place')} to look at, listed above.`,
  );
}

function readText(path: string, name: string): string {
  try {
    if (statSync(path).size > MOST_BYTES) throw new CliError(`${name} is larger than 4 MiB`);
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    if (error instanceof CliError) throw error;
    if (error instanceof TypeError) throw new CliError(`${name} is no text in UTF-8`);
    throw new CliError(`${name} cannot be read (${codeOf(error)})`);
  }
}

/** Also by another name, such as a link. */
function isSameFile(a: string, b: string): boolean {
  const [one, other] = [a, b].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return one !== undefined && one.dev === other?.dev && one.ino === other.ino;
}

function write(path: string, name: string, text: string, force = false): void {
  try {
    writeFileSync(path, text, { flag: force ? 'w' : 'wx' });
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw new CliError(`${name} is there already; --force overwrites it`);
    throw new CliError(`${name} cannot be written (${codeOf(error)})`);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
