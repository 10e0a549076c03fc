import { thisMachine } from './machine.js';
import { canInstall, findTool, howToGet, installTools, type Tool } from './tools.js';

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
    const how = howToGet([REDIS], machine);
    throw new Error(`no Redis found: ${how}, or set REDIS_URL to a Redis that is already running`);
  }
  installTools([REDIS], say, machine);
  return findTool(REDIS, machine) ?? '';
}
