import { MistakesError } from '@sluice/shared/contract/mistakes';
import { CommanderError } from 'commander';
import { AdminRefusal } from './admin/client.js';
import { Cli } from './cli.js';
import { CliError, SaidError } from './output/cli-error.js';
import type { Terminal } from './output/terminal.js';
import { createProgram } from './program.js';

export { thisTerminal } from './output/terminal.js';

const FAILED = 1;
const WRONG_USAGE = 2;

/**
 * One run of `sluice`. Resolves to its exit status. A failure is one line on stderr, mistakes in a file are one line each;
 * with --json both are one JSON object on stderr.
 */
export async function runSluice(args: readonly string[], terminal: Terminal): Promise<number> {
  const json = args.includes('--json');
  try {
    await createProgram(new Cli(terminal, json)).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const status = statusOf(error);
    if (error instanceof SaidError) return status;
    if (json) terminal.stderr.write(`${JSON.stringify({ error: toJson(error, status) }, null, 2)}\n`);
    // Commander has said what it has to say.
    else if (!(error instanceof CommanderError)) terminal.stderr.write(`sluice: ${textOf(error)}\n`);
    return status;
  }
}

function statusOf(error: unknown): number {
  if (error instanceof CommanderError) return WRONG_USAGE;
  return error instanceof CliError ? error.exitCode : FAILED;
}

function toJson(error: unknown, status: number) {
  if (error instanceof AdminRefusal)
    return { message: error.message, code: error.code, status: error.status };
  return {
    message: textOf(error),
    code: status === WRONG_USAGE ? 'wrong_usage' : 'failed',
    ...(error instanceof MistakesError ? { mistakes: error.mistakes } : {}),
  };
}

/** In one line, except for the mistakes in a file. */
function textOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof MistakesError) return message;
  return message
    .replace(/^error: /, '')
    .replaceAll(/:\s*\n\s*/g, ': ')
    .replaceAll(/\s*\n\s*/g, '; ');
}
