import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const PROGRAMS = ['redis-server', 'valkey-server'];
/** Where package managers put servers, also when PATH does not say so. */
const USUAL_PLACES = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];
const PACKAGES = ['redis-server', 'redis-tools'];
const INSTALL = 'apt-get install -y --no-install-recommends redis-server';

/** The machine, as far as finding a Redis needs it. */
export interface Machine {
  /** The path of a program, if it is there. */
  find(program: string): string | undefined;
  isRoot: boolean;
  run(program: string, args: string[]): { ok: boolean; stderr: string };
}

const thisMachine: Machine = {
  find: (program) => {
    const folders = [...(process.env.PATH ?? '').split(delimiter), ...USUAL_PLACES].filter(Boolean);
    return folders.map((folder) => join(folder, program)).find(isExecutable);
  },
  isRoot: process.getuid?.() === 0,
  run: (program, args) => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', env });
    return { ok: status === 0, stderr: stderr ?? '' };
  },
};

/** The path of a Redis server program. Installs Debian's where that is possible, and else says what to do. */
export function findOrInstallRedis(say: (line: string) => void, machine = thisMachine): string {
  const found = findRedis(machine);
  if (found) return found;
  const apt = machine.find('apt-get');
  if (!apt || !machine.isRoot) {
    const how = apt
      ? `run "sudo ${INSTALL}"`
      : 'install Redis 7 or Valkey, for example with "brew install redis"';
    throw new Error(`no Redis found: ${how}, or set REDIS_URL to a Redis that is already running`);
  }
  say(`No Redis found; installing it (${INSTALL}) …`);
  install(apt, machine);
  const installed = findRedis(machine);
  if (!installed) throw new Error(`no Redis found, and "${INSTALL}" did not bring one`);
  return installed;
}

function findRedis({ find }: Machine): string | undefined {
  return PROGRAMS.map(find).find((path) => path !== undefined);
}

function install(apt: string, machine: Machine): void {
  const attempt = () => machine.run(apt, ['install', '-y', '--no-install-recommends', ...PACKAGES]);
  if (attempt().ok && findRedis(machine)) return;
  // A machine that never asked for the package lists does not know the package; one that lost the program needs it again.
  machine.run(apt, ['update']);
  const { ok, stderr } = attempt();
  if (!ok) throw new Error(`"${INSTALL}" failed:\n${stderr.trim()}`);
  if (!findRedis(machine)) machine.run(apt, ['install', '-y', '--reinstall', ...PACKAGES]);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
