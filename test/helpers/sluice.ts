/** The `sluice` command: within the test for its answers, and as a process of its own where that matters. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { PassThrough, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { runSluice } from '@sluice/cli/sluice';
import type { Gateway } from './gateway.js';
import { withParent } from './with-parent.js';

export const BIN = fileURLToPath(new URL('../../../packages/cli/bin/sluice.js', import.meta.url));

export interface Ran {
  code: number;
  out: string;
  err: string;
  /** stdout, parsed. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies whose shape is what they check
  json(): any;
}

export interface RunOptions {
  env?: Record<string, string>;
  directory?: string;
  /** Run on a terminal, where somebody types this. */
  types?: string;
}

export type Sluice = (args: string | string[], options?: RunOptions) => Promise<Ran>;

/** Arguments are split at spaces; give a list where one holds a space itself. */
export function sluiceOf(gateway: Gateway): Sluice {
  const env = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN: gateway.adminToken };
  return (args, options = {}) => sluice(args, { ...options, env: { ...env, ...options.env } });
}

export async function sluice(
  args: string | string[],
  { env = {}, directory = '/nowhere', types }: RunOptions = {},
): Promise<Ran> {
  const onTerminal = types !== undefined;
  const stream = () => Object.assign(new PassThrough(), { isTTY: onTerminal, hasColors: () => onTerminal });
  const [stdin, stdout, stderr] = [stream(), stream(), stream()];
  if (onTerminal) stdin.write(types);
  const [code, out, err] = await Promise.all([
    runSluice(typeof args === 'string' ? args.split(' ') : args, {
      stdin,
      stdout,
      stderr,
      env,
      directory,
    }).finally(() => {
      stdout.end();
      stderr.end();
    }),
    text(stdout),
    text(stderr),
  ]);
  return { code, out, err, json: () => JSON.parse(out) };
}

export type SluiceProcess = ChildProcessByStdio<null, Readable, Readable>;

export function spawnSluice(gateway: Gateway, args: string[]): SluiceProcess {
  const env = { PATH: process.env.PATH, ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN: gateway.adminToken };
  const [program = '', ...words] = [...withParent(), process.execPath, BIN, ...args];
  return spawn(program, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
}
