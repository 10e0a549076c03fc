/** Reads what a Redis server says about itself, and decides whether the gateway can work with it. */
import type { Redis } from 'ioredis';

/** The oldest versions that have what the scripts need. */
const OLDEST = { Redis: '7.0', Valkey: '7.2' } as const;
const NEEDED = `Sluice needs Redis ${OLDEST.Redis} or newer, or Valkey ${OLDEST.Valkey} or newer`;

export interface RedisServerFacts {
  product: keyof typeof OLDEST;
  version: string;
  appendOnly: boolean;
  evictionPolicy: string;
}

/** A property of the server by which accepted requests can be lost. */
export interface RedisWorry {
  reason: 'no_append_only_file' | 'eviction';
  text: string;
}

export const WORRIES = ['no_append_only_file', 'eviction'] as const;

export async function readServer(redis: Redis): Promise<RedisServerFacts> {
  const info = await redis.info();
  const read = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  // Valkey reports redis_version too, for programs that know no other name.
  const valkey = read('valkey_version');
  return {
    product: valkey === '' ? 'Redis' : 'Valkey',
    version: valkey === '' ? read('redis_version') : valkey,
    appendOnly: read('aof_enabled') === '1',
    evictionPolicy: read('maxmemory_policy'),
  };
}

/** Throws an error that names the server when it lacks something that the gateway needs. */
export async function requireCapable(redis: Redis): Promise<RedisServerFacts> {
  const facts = await readServer(redis);
  const { product, version } = facts;
  if (isOlder(version, OLDEST[product])) throw new Error(`${product} ${version} is too old: ${NEEDED}`);
  try {
    await redis.eval('#!lua flags=allow-oom\nreturn 1', 0);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `this ${product} ${version} cannot run the gateway's scripts (${reason}): ${NEEDED}, and a user that may EVAL`,
    );
  }
  return facts;
}

export function worriesOf({ appendOnly, evictionPolicy }: RedisServerFacts): RedisWorry[] {
  const worries: RedisWorry[] = [];
  if (!appendOnly)
    worries.push({
      reason: 'no_append_only_file',
      text: 'Redis keeps no append-only file: accepted requests are lost when it restarts. Set "appendonly yes".',
    });
  if (evictionPolicy !== 'noeviction')
    worries.push({
      reason: 'eviction',
      text: `Redis may throw accepted requests away (maxmemory-policy ${evictionPolicy}). Set "maxmemory-policy noeviction".`,
    });
  return worries;
}

function isOlder(version: string, oldest: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldMajor = 0, oldMinor = 0] = oldest.split('.').map(Number);
  return major < oldMajor || (major === oldMajor && minor < oldMinor);
}
