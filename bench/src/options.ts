/** Options of the bench's commands. Every mistake is told in one sentence, and ends the run before anything starts. */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';

export class UsageError extends Error {}

export function readArgs<Text extends string, Flag extends string>(
  args: string[],
  texts: readonly Text[],
  flags: readonly Flag[],
): Partial<Record<Text, string>> & Partial<Record<Flag, boolean>> {
  const options = Object.fromEntries([
    ...texts.map((name) => [name, { type: 'string' as const }]),
    ...flags.map((name) => [name, { type: 'boolean' as const }]),
  ]);
  try {
    return parseArgs({ args, options, allowPositionals: false, strict: true }).values as ReturnType<
      typeof readArgs<Text, Flag>
    >;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

export function wholeNumber(name: string, text: string, min = 1): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < min)
    throw new UsageError(`--${name} must be a whole number from ${min} on`);
  return value;
}

export function wholeNumbers(name: string, text: string, min = 1): number[] {
  return text.split(',').map((part) => wholeNumber(name, part.trim(), min));
}

/** The path of a file, if one is given. */
export function existingFile(path: string | undefined): string | undefined {
  if (path !== undefined && !existsSync(path)) throw new UsageError(`there is no ${path}`);
  return path;
}

export function choices<Choice extends string>(
  name: string,
  text: string,
  known: readonly Choice[],
): Choice[] {
  return text.split(',').map((part) => {
    const found = known.find((choice) => choice === part.trim());
    if (found === undefined) throw new UsageError(`--${name} takes ${known.join(', ')}`);
    return found;
  });
}

/** `--save docs` */
export function savesToDocs(save: string | undefined): boolean {
  if (save === undefined) return false;
  if (save !== 'docs') throw new UsageError('--save takes docs');
  return true;
}
