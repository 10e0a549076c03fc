import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const PROGRAMS = ['redis-server', 'valkey-server'];
/** Where package managers put servers, also when PATH does not say so. */
const USUAL_PLACES = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];
const INSTALL = 'apt-get install -y --no-install-recommends redis-server';

/** The path of a Redis server program. Installs Debian's where that is possible, and else says what to do. */
export function findOrInstallRedis(say: (line: string) => void): string {
  const found = findRedis();
  if (found) return found;
  const apt = onPath('apt-get');
  if (!apt || process.getuid?.() !== 0) {
    const how = apt ? `sudo ${INSTALL}` : 'install Redis 7 or Valkey, for example with "brew install redis"';
    throw new Error(`no Redis found: run "${how}", or set REDIS_URL to a Redis that is already running`);
  }
  say(`No Redis found; installing it (${INSTALL}) …`);
  install(apt);
  const installed = findRedis();
  if (!installed) throw new Error(`no Redis found, and "${INSTALL}" did not bring one`);
  return installed;
}

export function findRedis(): string | undefined {
  for (const program of PROGRAMS) {
    const path = onPath(program);
    if (path) return path;
  }
  return undefined;
}

function install(apt: string): void {
  const run = (...args: string[]) =>
    spawnSync(apt, args, { encoding: 'utf8', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
  const attempt = () => run('install', '-y', '--no-install-recommends', 'redis-server', 'redis-tools');
  if (attempt().status === 0 && findRedis()) return;
  // A machine that never asked for the package lists does not know the package; one that lost the program needs it again.
  run('update');
  const result = attempt();
  if (result.status !== 0) throw new Error(`"${INSTALL}" failed:\n${result.stderr.trim()}`);
  if (!findRedis()) run('install', '-y', '--reinstall', 'redis-server', 'redis-tools');
}

function onPath(program: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...USUAL_PLACES].filter(
    (folder) => folder !== '',
  );
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
