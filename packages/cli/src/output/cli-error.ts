/** Ends a command with one line on stderr. */
export class CliError extends Error {
  override readonly name: string = 'CliError';
  readonly exitCode: number = 1;
}

/** The command has failed, and its result says how. */
export class SaidError extends CliError {
  override readonly name = 'SaidError';
}

/** The command line is wrong. */
export class UsageError extends CliError {
  override readonly name = 'UsageError';
  override readonly exitCode = 2;
}
