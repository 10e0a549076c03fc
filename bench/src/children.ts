/**
 * The processes and the folder of this run. Whatever way the bench ends, Ctrl-C included, they end with it. (Redis sees to
 * that by itself, see redis-server.ts of the cli.)
 */
import { type ChildProcess, execFile, fork, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const READY_MS = 60_000;
const STOP_MS = 10_000;
const LOOK_EVERY_MS = 100;

const running = new Set<ChildProcess>();
let folder: string | undefined;
let started = 0;

process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  if (folder) rmSync(folder, { recursive: true, force: true });
});

export function endOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.exit(130));
}

/** A path in this run's own folder. */
export function scratch(name: string): string {
  folder ??= mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  return join(folder, name);
}

/** Ends with this run, if not before. */
export function track(child: ChildProcess): void {
  running.add(child);
  child.once('exit', () => running.delete(child));
}

export interface Child {
  pid: number;
  stop(): Promise<void>;
}

/** One of our own processes; ready when it says so. */
export async function startOwn(
  module: string,
  env: NodeJS.ProcessEnv,
  execArgv: string[] = [],
  node = process.execPath,
): Promise<Child> {
  const script = fileURLToPath(import.meta.resolve(module));
  const { child, log } = start((options) =>
    fork(script, { ...options, env, execArgv, execPath: node, stdio: [...options.stdio, 'ipc'] }),
  );
  return whenReady(module, child, log, once(child, 'message'));
}

/** Somebody else's process; ready when this address answers, whatever it says. */
export async function startOther(
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  readyUrl: string,
): Promise<Child> {
  const { child, log } = start((options) => spawn(command, args, { ...options, env }));
  return whenReady(command, child, log, answers(readyUrl, child));
}

/** Returns the output of a program that has ended well. */
export async function outputOf(program: string, args: string[]): Promise<string> {
  const running = promisify(execFile)(program, args, { maxBuffer: 16 * 2 ** 20 });
  track(running.child);
  return (await running).stdout;
}

type Stdio = ['ignore', number, number];

function start(launch: (options: SpawnOptions & { stdio: Stdio }) => ChildProcess) {
  const log = scratch(`output-${++started}.log`);
  const file = openSync(log, 'w');
  const child = launch({ stdio: ['ignore', file, file] });
  closeSync(file);
  track(child);
  return { child, log };
}

async function whenReady(
  name: string,
  child: ChildProcess,
  log: string,
  ready: Promise<unknown>,
): Promise<Child> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const fail = (why: string) => () =>
      reject(new Error(`${name} ${why}:\n${readFileSync(log, 'utf8').slice(-2_000)}`));
    timer = setTimeout(fail('was not ready in time'), READY_MS);
    child.once('exit', fail('ended at once'));
    child.once('error', fail('could not be started'));
  });
  late.catch(() => {});
  await Promise.race([ready, late]);
  clearTimeout(timer);
  return { pid: child.pid ?? 0, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await exited;
  clearTimeout(kill);
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const reached = await fetch(url).then(
      (response) => response.text().then(() => true),
      () => false,
    );
    if (reached) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
