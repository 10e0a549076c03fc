/** What one run of `sluice` reads and writes, so that it can also be run from within another program. */
import type { Readable, Writable } from 'node:stream';
import type { Env } from '@sluice/shared/config/env-lookup';

export interface Terminal {
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean; hasColors?(): boolean; columns?: number };
  stderr: Writable & { isTTY?: boolean };
  env: Env;
  /** Where gateway.yaml and .sluice/ are. */
  directory: string;
}

export function thisTerminal(): Terminal {
  // A reader that has seen enough, such as `head`, closes the pipe; that is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const { stdin, stdout, stderr, env } = process;
  return { stdin, stdout, stderr, env, directory: process.cwd() };
}
