/** `npm start` as a user runs it: the built start.js in a process of its own, with a data folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownPort } from './own-port.js';
import { withParent } from './with-parent.js';

export const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url));

export interface RunOptions {
  command?: string[];
  args?: string[];
  env?: Record<string, string>;
  /** Default: one that is removed when the test ends. */
  folder?: string;
  /** Default: the repository. */
  cwd?: string;
}

export interface Run {
  child: ChildProcess;
  pid: number;
  port: number;
  folder: string;
  /** Everything printed so far. */
  output(): string;
  /** Waits for a line of the output. Rejects when the process ends without it. */
  says(text: string): Promise<void>;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Everything it started that is still running, and the Redis of its folder. */
  offspring(): number[];
}

interface Cleaner {
  teardown(clean: () => Promise<void> | void): void;
}

export function makeFolder(t: Cleaner): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-start-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** Ports that follow one another are not needed: the second api and worker take the next free one. */
export async function run(t: Cleaner, options: RunOptions = {}): Promise<Run> {
  const folder = options.folder ?? makeFolder(t);
  const port = await ownPort();
  const mark = `run-${randomUUID()}`;
  const command = options.command ?? [process.execPath, 'packages/cli/dist/start.js'];
  const [program = '', ...args] = [...withParent('TERM'), ...command, '--data', folder];
  const child = spawn(program, [...args, ...(options.args ?? [])], {
    cwd: options.cwd ?? REPOSITORY,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      PORT: String(port),
      METRICS_PORT: String(await ownPort()),
      ADMIN_PORT: String(await ownPort()),
      TEST_RUN: mark,
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  const collect = (chunk: Buffer) => {
    output += chunk.toString();
    child.emit('printed');
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  const offspring = () =>
    readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && pid !== child.pid && belongsTo(pid, mark, folder) && isRunning(pid));
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
    for (const pid of offspring()) process.kill(pid, 'SIGKILL');
  });
  return {
    child,
    pid: child.pid ?? 0,
    port,
    folder,
    output: () => output,
    async says(text) {
      const over = ended.then(() => {
        if (!output.includes(text)) throw new Error(`ended without saying "${text}":\n${output}`);
      });
      while (!output.includes(text)) await Promise.race([once(child, 'printed'), over]);
    },
    ended,
    offspring,
  };
}

/** A run that has said that it is ready. Another process may take a free port before this one listens on it. */
export async function start(t: Cleaner, options: RunOptions = {}, tries = 5): Promise<Run> {
  const gateway = await run(t, options);
  try {
    await gateway.says('Try it:');
  } catch (error) {
    if (tries === 1 || !/ is in use; set \w+ to another one/.test(gateway.output())) throw error;
    return start(t, options, tries - 1);
  }
  await gateway.says("}]}'");
  return gateway;
}

export function keyOf(output: string): string {
  return /^Key of workspace demo: (\S+)$/m.exec(output)?.[1] ?? '';
}

export async function chat(port: number, key: string, model = 'fast'): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  });
}

/** Resolves once `check` holds; the test's own timeout is the limit. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** Occupies a port until the test ends. */
export async function occupyPort(t: Cleaner): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => void server.close());
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}

export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

/** Children inherit the environment, also those that a killed parent left behind. Redis wipes its own, but sits in its folder. */
function belongsTo(pid: number, mark: string, folder: string): boolean {
  try {
    return (
      readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark) ||
      readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)
    );
  } catch {
    return false;
  }
}
