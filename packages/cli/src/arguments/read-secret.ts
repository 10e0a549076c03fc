import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { CliError, UsageError } from '../output/cli-error.js';
import type { Terminal } from '../output/terminal.js';

/** A secret from a file, or from stdin for `-`. It is never an argument: those are in the shell's history and in `ps`. */
export async function readSecret(file: string, { stdin, directory }: Terminal): Promise<string> {
  if (file === '-' && stdin.isTTY) throw new UsageError('pipe the key in, or name a file that has it');
  const read = file === '-' ? text(stdin) : readFile(resolve(directory, file), 'utf8');
  const secret = (
    await read.catch((error: NodeJS.ErrnoException) => {
      throw new CliError(`${file} cannot be read (${error.code})`);
    })
  ).trim();
  if (secret === '') throw new CliError(`${file === '-' ? 'stdin' : file} has no key in it`);
  return secret;
}
