import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CliError } from '../output/cli-error.js';

export function readJsonFile(file: string, directory: string): unknown {
  let text: string;
  try {
    text = readFileSync(resolve(directory, file), 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown error';
    throw new CliError(`${file} cannot be read (${code})`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new CliError(`${file} is not JSON`);
  }
}
