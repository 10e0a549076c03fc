import { type Machine, thisMachine } from './machine.js';
import { canInstall, findTool, howToGet, installTools, type Tool } from './tools.js';

const FROM_SOURCE =
  'curl -fsSL https://download.redis.io/redis-stable.tar.gz | tar xz && make -C redis-stable redis-server';

export const REDIS: Tool = {
  name: 'Redis',
  programs: [
    ...(process.env.REDIS_SERVER ? [process.env.REDIS_SERVER] : []),
    'redis-server',
    'valkey-server',
  ],
  packages: ['redis-server', 'redis-tools'],
  elsewhere: 'install Redis 7 or Valkey, for example with "brew install redis"',
};

/** The path of a Redis server program. Installs Debian's where that is possible, and else says what to do. */
export function findOrInstallRedis(say: (line: string) => void, machine = thisMachine): string {
  const found = findTool(REDIS, machine);
  if (found) return found;
  if (!canInstall(machine)) {
    throw new Error(
      `no redis-server and no valkey-server found: ${howToGetRedis(machine)}, or set REDIS_URL to a Redis that is already running`,
    );
  }
  installTools([REDIS], say, machine);
  return findTool(REDIS, machine) ?? '';
}

/** One line that works on this machine for somebody who is not root. */
function howToGetRedis(machine: Machine): string {
  const has = (program: string) => machine.find(program) !== undefined;
  const container = ['docker', 'podman'].find(has);
  if (has('brew')) return 'run "brew install redis"';
  if (has('apt-get') && has('sudo')) return howToGet([REDIS], machine);
  if (container)
    return `run "${container} run --detach --publish 127.0.0.1:6379:6379 docker.io/valkey/valkey:8 valkey-server --appendonly yes" and start again with REDIS_URL=redis://127.0.0.1:6379`;
  if (has('make') && has('cc') && has('curl'))
    return `build it without root: "${FROM_SOURCE}", and start again with REDIS_SERVER="$PWD/redis-stable/src/redis-server"`;
  return howToGet([REDIS], machine);
}
