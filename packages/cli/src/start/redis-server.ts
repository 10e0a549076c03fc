/**
 * A Redis of our own, with its data in a folder. The folder also says where the running server listens: a Redis whose
 * starter was killed is found and used again, because two servers must never write one append-only file.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectPatiently, waitForRedis } from '@sluice/shared/redis/redis';
import { isAlive, send, untilGone } from './alive.js';
import { freePort } from './free-port.js';

const START_MS = 20_000;
const LOOK_MS = 1_000;

export interface RedisServer {
  url: string;
  pid: number;
  /** Ends the server; with `signal` SIGKILL as a crash would. When this process exits before, it is told to end. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** What the folder remembers of a running server. */
interface Note {
  pid: number;
  url: string;
  /** The process that started it, or took it over. */
  owner: number;
}

export interface RedisServerOptions {
  program: string;
  /** Words before the program, of a command that becomes it: setpriv, prlimit. */
  wrapper?: readonly string[];
  folder: string;
  port?: number;
  /** Further options of redis-server, such as `['--maxmemory', '50mb']`. */
  extra?: string[];
}

export async function startRedis({
  program,
  wrapper = [],
  folder,
  port,
  extra = [],
}: RedisServerOptions): Promise<RedisServer> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const note = join(folder, 'server.json');
  const left = await findLeftover(note);
  if (left) {
    if (left.owner !== process.pid && isAlive(left.owner))
      throw new Error(`${folder} is in use by process ${left.owner}`);
    return takeOver(left.pid, left.url, note);
  }

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
  const [starter = program, ...args] = [...wrapper, program, ...settings];
  const child = spawn(starter, [...args, '--maxmemory-policy', 'noeviction', ...extra], {
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

  const died = once(child, 'exit').then(() => {
    throw new Error(`${program} ended at once:\n${output.trim()}`);
  });
  died.catch(() => {});
  if (child.pid === undefined) return died;
  const server = takeOver(child.pid, url, note);
  const redis = connectPatiently(url);
  try {
    await Promise.race([waitForRedis(redis, START_MS), died]);
  } catch (error) {
    await server.stop('SIGKILL');
    throw error;
  } finally {
    redis.disconnect();
  }
  return server;
}

/**
 * A Redis that is kept running: when it ends by itself, it is started again, with its port and its data. It is looked at by its
 * id, because one that was taken over is no child of this process.
 */
export async function keepRedis(
  options: RedisServerOptions,
  say: (line: string) => void,
): Promise<Pick<RedisServer, 'url' | 'stop'>> {
  let server = await startRedis(options);
  const { url } = server;
  const port = Number(new URL(url).port);
  let starting: Promise<void> | undefined;
  const startAgain = async () => {
    say('The Redis process ended; starting it again.');
    // It is gone. This forgets it, so that nobody sends a signal to a process that gets its id.
    await server.stop();
    server = await startRedis({ ...options, port });
  };
  const looking = setInterval(() => {
    if (starting || isAlive(server.pid)) return;
    starting = startAgain()
      .catch((error: unknown) => say(error instanceof Error ? error.message : String(error)))
      .finally(() => {
        starting = undefined;
      });
  }, LOOK_MS);
  return {
    url,
    async stop() {
      clearInterval(looking);
      await starting;
      await server.stop();
    },
  };
}

async function findLeftover(note: string): Promise<Note | undefined> {
  let left: Note;
  try {
    left = JSON.parse(readFileSync(note, 'utf8'));
  } catch {
    return undefined;
  }
  if (!isAlive(left.pid)) return undefined;
  const redis = connectPatiently(left.url);
  try {
    // One that still loads its data counts as running.
    await waitForRedis(redis, START_MS);
    return (await redis.info('server')).includes(`process_id:${left.pid}\r`) ? left : undefined;
  } catch {
    return undefined;
  } finally {
    redis.disconnect();
  }
}

function takeOver(pid: number, url: string, note: string): RedisServer {
  const owned: Note = { pid, url, owner: process.pid };
  writeFileSync(note, JSON.stringify(owned));
  const abandon = () => {
    send(pid, 'SIGTERM');
  };
  process.once('exit', abandon);
  return {
    pid,
    url,
    async stop(signal = 'SIGTERM') {
      process.off('exit', abandon);
      send(pid, signal);
      await untilGone(pid);
      rmSync(note, { force: true });
    },
  };
}
