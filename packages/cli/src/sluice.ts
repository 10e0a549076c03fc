import { FaultsError } from '@sluice/shared/config/faults';
import { CommanderError } from 'commander';
import { Cli } from './cli.js';
import { CliError } from './output/cli-error.js';
import type { Terminal } from './output/terminal.js';
import { createProgram } from './program.js';

export { thisTerminal } from './output/terminal.js';

/** One run of `sluice`. Resolves to its exit status; a failure is one line on stderr, faults of a file one each. */
export async function runSluice(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    await createProgram(new Cli(terminal)).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has said what it has to say.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const message = error instanceof Error ? error.message : String(error);
    const text =
      error instanceof FaultsError
        ? message
        : message.replaceAll(/:\s*\n\s*/g, ': ').replaceAll(/\s*\n\s*/g, '; ');
    terminal.stderr.write(`sluice: ${text}\n`);
    return error instanceof CliError ? error.exitCode : 1;
  }
}
