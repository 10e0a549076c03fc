/**
 * A PostgreSQL of our own, with its data in a folder. It listens on loopback alone. It refuses to run as root; then it runs
 * as another user of this machine, who has to be able to reach the folder. The folder says where the running server listens:
 * one whose starter was killed is found and used again.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { openDatabase } from '@sluice/shared/archive/database';
import { isAlive, send, untilGone } from './alive.js';
import { freePort } from './free-port.js';
import { rememberSecret } from './remember-secret.js';

const START_MS = 60_000;
const OWNER = 'sluice_owner';
const WRITER = 'sluice';
const DATABASE = 'sluice';

export interface PostgresServer {
  /** By the role that inserts and selects. */
  url: string;
  /** By the role that owns the tables. */
  ownerUrl: string;
  port: number;
  pid: number;
  /** With SIGKILL as a crash would. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface PostgresServerOptions {
  /** The folder of `initdb` and `postgres`. */
  programs: string;
  folder: string;
  port?: number;
  /** Words before the program, of a command that becomes it. */
  wrapper?: readonly string[];
  /** Settings, such as `fsync=off` for tests. */
  settings?: readonly string[];
}

export async function startPostgres({
  programs,
  folder: wantedFolder,
  port,
  wrapper = [],
  settings = [],
}: PostgresServerOptions): Promise<PostgresServer> {
  const { folder, user } = preparePlace(wantedFolder);
  const data = join(folder, 'data');
  const password = readFileSync(rememberSecret(folder, 'password'), 'utf8').trim();
  const note = join(folder, 'server.json');
  const left = findLeftover(note, data);
  if (left) {
    if (left.owner !== process.pid && isAlive(left.owner))
      throw new Error(`${folder} is in use by process ${left.owner}`);
    const url = toUrl(OWNER, 'postgres', password, left.port);
    await makeDatabase(url, password, AbortSignal.timeout(START_MS));
    return takeOver(left.pid, left.port, password, note);
  }
  if (!existsSync(join(data, 'PG_VERSION'))) initialise(programs, folder, password, user);
  const chosen = port ?? (await freePort());
  const [program = '', ...args] = [
    ...wrapper,
    join(programs, 'postgres'),
    ...['-D', data, '-p', String(chosen), '-h', '127.0.0.1', '-k', ''],
    ...settings.flatMap((setting) => ['-c', setting]),
  ];
  const url = toUrl(OWNER, 'postgres', password, chosen);
  const makeOurs = (ended: AbortSignal) => makeDatabase(url, password, ended);
  const deadline = performance.now() + START_MS;
  let running = await launch(program, args, user, makeOurs);
  // The processes of a server that was killed end by themselves, but not at once. Until then they keep its memory.
  while ('problem' in running && running.problem.includes('pre-existing shared memory block')) {
    if (performance.now() > deadline) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
    running = await launch(program, args, user, makeOurs);
  }
  if ('problem' in running) throw new Error(`PostgreSQL ended at once:\n${running.problem}`);
  const server = takeOver(running.pid, chosen, password, note);
  process.off('exit', running.abandon);
  return server;
}

/** What the folder remembers of a running server. */
interface Note {
  pid: number;
  port: number;
  /** The process that started it, or took it over. */
  owner: number;
}

function findLeftover(note: string, data: string): Note | undefined {
  try {
    const left = JSON.parse(readFileSync(note, 'utf8')) as Note;
    // PostgreSQL removes this file when it ends. After a crash of the machine another process may have its number.
    const [pid, , , port] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n').map(Number);
    return pid === left.pid && port === left.port && isAlive(left.pid) ? left : undefined;
  } catch {
    return undefined;
  }
}

function takeOver(pid: number, port: number, password: string, note: string): PostgresServer {
  writeFileSync(note, JSON.stringify({ pid, port, owner: process.pid } satisfies Note));
  const abandon = () => {
    send(pid, 'SIGINT');
  };
  process.once('exit', abandon);
  return {
    url: toUrl(WRITER, DATABASE, password, port),
    ownerUrl: toUrl(OWNER, DATABASE, password, port),
    port,
    pid,
    /** SIGINT: it ends its connections, and then itself in order. */
    async stop(signal = 'SIGINT') {
      process.off('exit', abandon);
      send(pid, signal);
      await untilGone(pid);
      rmSync(note, { force: true });
    },
  };
}

function toUrl(role: string, database: string, password: string, port: number): string {
  return `postgres://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
}

interface Running {
  pid: number;
  abandon(): void;
}

/** Resolves when the server is ready, or with its last words when it has ended. */
async function launch(
  program: string,
  args: readonly string[],
  user: RunAs,
  makeReady: (ended: AbortSignal) => Promise<void>,
): Promise<Running | { problem: string }> {
  const child = spawn(program, args, {
    ...user,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    cwd: '/',
  });
  let output = '';
  const collect = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-2_000);
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const abandon = () => child.kill('SIGINT');
  process.once('exit', abandon);
  const gone = new AbortController();
  // Its output is complete when it is closed.
  const ended = once(child, 'close').finally(() => gone.abort());
  try {
    const isReady = await Promise.race([makeReady(gone.signal).then(() => true), ended.then(() => false)]);
    if (isReady && child.pid !== undefined) return { pid: child.pid, abandon };
    process.off('exit', abandon);
    return { problem: output.trim() };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

function initialise(programs: string, folder: string, password: string, user: RunAs): void {
  const passwordFile = join(folder, 'initial-password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user.uid !== undefined && user.gid !== undefined) chownSync(passwordFile, user.uid, user.gid);
  const data = join(folder, 'data');
  const how = ['-A', 'scram-sha-256', '-U', OWNER, `--pwfile=${passwordFile}`, '-E', 'UTF8', '--locale=C'];
  const { status, stderr } = spawnSync(join(programs, 'initdb'), ['-D', data, ...how], {
    ...user,
    encoding: 'utf8',
    cwd: '/',
  });
  rmSync(passwordFile, { force: true });
  if (status === 0) return;
  rmSync(data, { recursive: true, force: true });
  throw new Error(`initdb failed:\n${(stderr ?? '').trim()}`);
}

/** Makes the database and the role, once; resolves when the server answers. */
async function makeDatabase(url: string, password: string, ended: AbortSignal): Promise<void> {
  const database = openDatabase(url, { connections: 1, statementMs: START_MS });
  try {
    await untilItAnswers(() => database.query('SELECT 1'), ended);
    const { rowCount: roles } = await database.query('SELECT FROM pg_roles WHERE rolname = $1', [WRITER]);
    if (roles === 0) await database.query(`CREATE ROLE ${WRITER} LOGIN PASSWORD '${password}'`);
    const { rowCount } = await database.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE]);
    if (rowCount === 0) await database.query(`CREATE DATABASE ${DATABASE}`);
  } finally {
    await database.end();
  }
}

async function untilItAnswers(ask: () => Promise<unknown>, ended: AbortSignal): Promise<void> {
  const until = performance.now() + START_MS;
  for (;;) {
    try {
      await ask();
      return;
    } catch (error) {
      if (ended.aborted || performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

interface RunAs {
  uid?: number;
  gid?: number;
}

/** Makes the folder, and throws when the user that PostgreSQL would run as cannot reach it. */
export function preparePlace(wantedFolder: string): { folder: string; user: RunAs } {
  const folder = resolve(wantedFolder);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return { folder, user: userToRunAs(folder) };
}

function userToRunAs(folder: string): RunAs {
  if (process.getuid?.() !== 0) return {};
  const ids = ['postgres', 'nobody'].flatMap((name) => {
    const [uid, gid] = ['-u', '-g'].map((flag) =>
      Number(spawnSync('id', [flag, name]).stdout?.toString() || 'NaN'),
    );
    return uid !== undefined && gid !== undefined && uid > 0 && gid > 0 ? [{ uid, gid, name }] : [];
  });
  const [user] = ids;
  if (!user)
    throw new Error('PostgreSQL does not run as root, and this machine has no user "postgres" or "nobody"');
  const { uid, gid } = user;
  chownSync(folder, uid, gid);
  // The data folder's own parent belongs to root alone: its secrets have modes of their own.
  chmodSync(dirname(folder), 0o711);
  if (spawnSync('test', ['-x', folder], { uid, gid, cwd: '/' }).status !== 0)
    throw new Error(
      `PostgreSQL does not run as root, and the user "${user.name}" cannot reach ${folder}: run this as another user, or choose a folder that it can reach, for example with --data /var/lib/sluice`,
    );
  return { uid, gid };
}
