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
  /** The file that the server could not write when it last tried to, in words. */
  unwritten: string | undefined;
  /** It refuses every change because of that. */
  isStopped: boolean;
  /** It has reached its `maxmemory`, and refuses what takes memory. */
  isFull: boolean;
}

/** What an operator has to change: accepted requests can be lost, or new ones are refused. */
export interface RedisWorry {
  reason: (typeof WORRIES)[number];
  text: string;
  /** Nothing can be done before it is mended. */
  stops?: true;
}

export const WORRIES = ['no_append_only_file', 'eviction', 'disk', 'full'] as const;

/** Redis refuses to run a script that may write when it refuses to write. */
const WRITER = '#!lua flags=allow-oom\nreturn 1';

const FILES = {
  aof_last_write_status: 'its append-only file',
  rdb_last_bgsave_status: 'its last snapshot',
  aof_last_bgrewrite_status: 'its append-only file anew',
};

export async function readServer(redis: Redis): Promise<RedisServerFacts> {
  const [info, isStopped] = await Promise.all([redis.info(), refusesToWrite(redis)]);
  const read = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  // Valkey reports redis_version too, for programs that know no other name.
  const valkey = read('valkey_version');
  const limit = Number(read('maxmemory'));
  // Redis does not count the buffers for replicas and for its file.
  const used = Number(read('used_memory')) - Number(read('mem_not_counted_for_evict'));
  return {
    product: valkey === '' ? 'Redis' : 'Valkey',
    version: valkey === '' ? read('redis_version') : valkey,
    appendOnly: read('aof_enabled') === '1',
    evictionPolicy: read('maxmemory_policy'),
    unwritten: Object.entries(FILES).find(([status]) => read(status) === 'err')?.[1],
    isStopped,
    isFull: limit > 0 && used > limit,
  };
}

async function refusesToWrite(redis: Redis): Promise<boolean> {
  return redis.eval(WRITER, 0).then(
    () => false,
    (error) => String(error).includes('MISCONF'),
  );
}

/** Throws an error that names the server when it lacks something that the gateway needs. */
export async function requireCapable(redis: Redis): Promise<RedisServerFacts> {
  const facts = await readServer(redis);
  const { product, version } = facts;
  if (isOlder(version, OLDEST[product])) throw new Error(`${product} ${version} is too old: ${NEEDED}`);
  try {
    await redis.eval(WRITER, 0);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `this ${product} ${version} cannot run the gateway's scripts (${reason}): ${NEEDED}, and a user that may EVAL`,
    );
  }
  return facts;
}

export function worriesOf(facts: RedisServerFacts): RedisWorry[] {
  const { appendOnly, evictionPolicy, unwritten, isStopped, isFull } = facts;
  const worries: RedisWorry[] = [];
  if (isFull)
    worries.push({
      reason: 'full',
      text: 'Redis is full: it has reached its maxmemory. New requests are refused until it has room.',
      stops: true,
    });
  if (isStopped)
    worries.push({
      reason: 'disk',
      text: `Redis cannot write ${unwritten ?? 'to its disk'}, and refuses every change. Is its disk full?`,
      stops: true,
    });
  else if (unwritten)
    worries.push({ reason: 'disk', text: `Redis could not write ${unwritten}. Is its disk full?` });
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
