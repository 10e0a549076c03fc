/** Reads what a Redis server says about itself, and decides whether the gateway can work with it. */
import type { Redis } from 'ioredis';
import { isRedisAway } from './away.js';
import { guardOf } from './cluster.js';

/** The oldest versions that have what the scripts need. */
const OLDEST = { Redis: '7.0', Valkey: '7.2' } as const;
const NEEDED = `Sluice needs Redis ${OLDEST.Redis} or newer, or Valkey ${OLDEST.Valkey} or newer`;

const REFUSALS = ['MISCONF', 'NOREPLICAS'] as const;
type Refusal = (typeof REFUSALS)[number];

export interface RedisServerFacts {
  product: keyof typeof OLDEST;
  version: string;
  appendOnly: boolean;
  evictionPolicy: string;
  /** The file that the server could not write when it last tried to, in words. */
  unwritten: string | undefined;
  /** It refuses every change: it cannot write to its disk, or it has too few replicas (min-replicas-to-write). */
  refusal: Refusal | undefined;
  /** It copies another server, and takes no changes. */
  isReplica: boolean;
  isCluster: boolean;
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

export const WORRIES = ['no_append_only_file', 'eviction', 'disk', 'full', 'replica', 'no_replicas'] as const;

/** Redis refuses to run a script that may write when it refuses to write. */
const WRITER = '#!lua flags=allow-oom\nreturn 1';

const FILES = {
  aof_last_write_status: 'its append-only file',
  rdb_last_bgsave_status: 'its last snapshot',
  aof_last_bgrewrite_status: 'its append-only file anew',
};

export async function readServer(redis: Redis): Promise<RedisServerFacts> {
  const info = readInfo(await redis.info());
  const read = (name: string) => info.get(name) ?? '';
  const isReplica = read('role') === 'slave';
  const isCluster = read('redis_mode') === 'cluster';
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
    // The client would send the script to a replica again and again.
    refusal: isReplica ? undefined : await refusalOf(redis),
    isReplica,
    isCluster,
    isFull: limit > 0 && used > limit,
  };
}

/** By the lines, once: every process looks every two seconds, and a search of the text for each field is most of what it costs. */
function readInfo(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    const end = line.indexOf(':');
    if (end > 0) fields.set(line.slice(0, end), line.slice(end + 1));
  }
  return fields;
}

async function refusalOf(redis: Redis): Promise<Refusal | undefined> {
  return redis.eval(WRITER, 0).then(
    () => undefined,
    (error) => REFUSALS.find((word) => String(error).includes(word)),
  );
}

/** Throws an error that names the server when the gateway cannot work with it. */
export async function requireCapable(redis: Redis, mayEvict = false): Promise<RedisServerFacts> {
  const facts = await readServer(redis);
  const { product, version, isReplica, isCluster, evictionPolicy } = facts;
  if (isOlder(version, OLDEST[product])) throw new Error(`${product} ${version} is too old: ${NEEDED}`);
  if (isCluster && guardOf(redis) === undefined)
    throw new Error(
      `this ${product} is a node of a Cluster: set REDIS_URL to redis+cluster://<host:port>,<host:port>`,
    );
  await requireDatabase(redis, product);
  if (isReplica)
    throw new Error(
      `this ${product} is a read-only replica: set REDIS_URL to its primary, or to its Sentinels`,
    );
  if (evictionPolicy.startsWith('allkeys-') && !mayEvict)
    throw new Error(
      `this ${product} throws keys away when its memory is full, workspaces and accepted requests too (maxmemory-policy ${evictionPolicy}): set "maxmemory-policy noeviction", or REDIS_EVICTION=allow`,
    );
  try {
    await redis.eval(WRITER, 0);
  } catch (error) {
    if (isRedisAway(error) || isForbidden(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`this ${product} ${version} cannot run the gateway's scripts (${reason}): ${NEEDED}`);
  }
  return facts;
}

/** ioredis goes on with database 0 where there is no such database. */
async function requireDatabase(redis: Redis, product: string): Promise<void> {
  const { db = 0 } = redis.options;
  if (db === 0) return;
  await redis.select(db).catch((error) => {
    if (!String(error).includes('out of range')) throw error;
    throw new Error(`this ${product} has no database ${db}, which REDIS_URL names`);
  });
}

/** What the gateway does with commands that it needs before everything else. */
const USES: Readonly<Record<string, string>> = {
  info: 'every process reads from it which server this is, and whether it can lose requests',
  eval: 'every change is made by a script',
  evalsha: 'every change is made by a script',
  subscribe: 'processes tell one another of changes by the channels &{<cell>}:*',
  publish: 'processes tell one another of changes by the channels &{<cell>}:*',
};

export function isForbidden(error: unknown): error is Error {
  return error instanceof Error && error.message.startsWith('NOPERM');
}

/** What the user of REDIS_URL may not do, and why it has to. */
export function explainForbidden(error: Error): string {
  const { name = '' } = (error as Error & { command?: { name?: string } }).command ?? {};
  if (/\bkeys?\b/.test(error.message) && !(name in USES))
    return `the user of REDIS_URL may not use the keys ~{<cell>}:* (${error.message}). deploy/redis/users.acl has what the user of each role needs`;
  const use = USES[name] ?? 'a process of this role uses it';
  return `the user of REDIS_URL may not ${name.toUpperCase()}, and has to: ${use} (${error.message}). deploy/redis/users.acl has what the user of each role needs`;
}

export function worriesOf(facts: RedisServerFacts): RedisWorry[] {
  const { appendOnly, evictionPolicy, unwritten, refusal, isReplica, isFull } = facts;
  const worries: RedisWorry[] = [];
  if (isFull)
    worries.push({
      reason: 'full',
      text: 'Redis is full: it has reached its maxmemory. New requests are refused until it has room.',
      stops: true,
    });
  if (isReplica)
    worries.push({
      reason: 'replica',
      text: 'Redis has become a read-only replica, and refuses every change. Set REDIS_URL to its primary, or to its Sentinels.',
      stops: true,
    });
  if (refusal === 'NOREPLICAS')
    worries.push({
      reason: 'no_replicas',
      text: 'Redis refuses every change (NOREPLICAS): it has fewer replicas than its min-replicas-to-write demands.',
      stops: true,
    });
  if (refusal === 'MISCONF')
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
