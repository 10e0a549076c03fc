/**
 * A Redis of our own, with its data in a folder. The folder also says where the running server listens: a Redis whose
 * starter was killed is found and used again, because two servers must never write one append-only file.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectImpatiently, connectPatiently, waitForRedis } from '@sluice/shared/redis';
import { freePort } from './free-port.js';

const START_MS = 20_000;

export interface RedisServer {
  url: string;
  pid: number;
  /** Ends the server; with `signal` SIGKILL as a crash would. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Asks the server to end, for when there is no time to wait for it. */
  abandon(): void;
}

export interface RedisServerOptions {
  program: string;
  folder: string;
  port?: number;
  /** Further options of redis-server, such as `['--maxmemory', '50mb']`. */
  extra?: string[];
}

export async function startRedis({
  program,
  folder,
  port,
  extra = [],
}: RedisServerOptions): Promise<RedisServer> {
  mkdirSync(folder, { recursive: true });
  const note = join(folder, 'server.json');
  const left = await findLeftover(note);
  if (left) return left;

  const chosen = port ?? (await freePort());
  const url = `redis://127.0.0.1:${chosen}`;
  const settings = [
    '--port',
    String(chosen),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--appendonly',
    'yes',
    '--save',
    '',
  ];
  const child = spawn(program, [...settings, '--maxmemory-policy', 'noeviction', ...extra], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // In a group of its own: Ctrl-C is for us, and Redis has to outlive the processes that still write to it.
    detached: true,
  });
  let output = '';
  const collect = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-2_000);
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);

  const redis = connectPatiently(url);
  const died = once(child, 'exit').then(() => {
    throw new Error(`${program} ended at once:\n${output.trim()}`);
  });
  try {
    await Promise.race([waitForRedis(redis, START_MS), died]);
  } finally {
    redis.disconnect();
  }
  died.catch(() => {});
  writeFileSync(note, JSON.stringify({ pid: child.pid, url }));
  return handleOf(child.pid ?? 0, url, note);
}

async function findLeftover(note: string): Promise<RedisServer | undefined> {
  let left: { pid: number; url: string };
  try {
    left = JSON.parse(readFileSync(note, 'utf8'));
  } catch {
    return undefined;
  }
  const redis = connectImpatiently(left.url, 1_000);
  try {
    await waitForRedis(redis, 1_000);
    const isOurs = (await redis.info('server')).includes(`process_id:${left.pid}\r`);
    if (!isOurs) return undefined;
  } catch {
    return undefined;
  } finally {
    redis.disconnect();
  }
  return handleOf(left.pid, left.url, note);
}

function handleOf(pid: number, url: string, note: string): RedisServer {
  return {
    pid,
    url,
    async stop(signal = 'SIGTERM') {
      send(pid, signal);
      while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
      rmSync(note, { force: true });
    },
    abandon: () => send(pid, 'SIGTERM'),
  };
}

function isAlive(pid: number): boolean {
  return send(pid, 0);
}

/** False when the process is gone. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}
