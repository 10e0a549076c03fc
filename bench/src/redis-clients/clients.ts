/** The clients that are compared. Each makes the script known to Redis, and then sends its digest. */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { connectPatiently } from '@sluice/shared/redis/redis';
import { createScript } from '@sluice/shared/redis/script';
import { createNodeRedisClient, createValkeyGlideClient, type IRedisClient } from 'bullmq';
import { Redis } from 'ioredis';
import { argumentsOf, LUA, QUEUE_KEYS, requestKeys } from './settle-like.js';

/** Sends the script for a request. */
type Send = (i: number) => Promise<unknown>;

export interface Client {
  title: string;
  /** The package to install, with its version. */
  rival?: readonly [string, string];
  /** `folder`: where the rival is. */
  open(url: string, folder: string): Promise<Send>;
}

const NODE_REDIS_5 = ['redis', '5.12.1'] as const;
const NODE_REDIS_6 = ['redis', '6.3.1'] as const;
const GLIDE = ['@valkey/valkey-glide', '2.5.2'] as const;
/** Glide's own limit of 250 ms fails commands on a busy machine. */
const GLIDE_TIMEOUT_MS = 5_000;
const DIGEST = createHash('sha1').update(LUA).digest('hex');
const KEYS = 20;

/** Ours comes first: the others are compared with it. It takes part twice. What differs between the two is chance. */
export const CLIENTS: readonly Client[] = [
  { title: 'ioredis as we send', open: openOurs },
  {
    title: 'ioredis',
    async open(url) {
      const redis = new Redis(url);
      await redis.script('LOAD', LUA);
      return (i) => redis.evalsha(DIGEST, KEYS, ...keysOf(i), ...argumentsOf(i));
    },
  },
  { title: 'node-redis 5', rival: NODE_REDIS_5, open: openNodeRedis },
  { title: 'node-redis 6', rival: NODE_REDIS_6, open: openNodeRedis },
  { title: 'ioredis as we send, again', open: openOurs },
  {
    title: "node-redis 5, BullMQ's adapter",
    rival: NODE_REDIS_5,
    open: async (url, folder) => byAdapter(createNodeRedisClient(await connectNodeRedis(url, folder))),
  },
  {
    title: 'glide',
    rival: GLIDE,
    async open(url, folder) {
      const redis = await connectGlide(url, folder);
      await redis.customCommand(['SCRIPT', 'LOAD', LUA]);
      const start = ['EVALSHA', DIGEST, String(KEYS)];
      return (i) => redis.customCommand([...start, ...keysOf(i), ...argumentsOf(i).map(String)]);
    },
  },
  {
    title: "glide, BullMQ's adapter",
    rival: GLIDE,
    open: async (url, folder) => byAdapter(createValkeyGlideClient(await connectGlide(url, folder))),
  },
];

const keysOf = (i: number) => [...QUEUE_KEYS, ...requestKeys(i)];

async function openOurs(url: string): Promise<Send> {
  const redis = connectPatiently(url);
  const settle = createScript('settle', LUA);
  return (i) => settle(redis, keysOf(i), argumentsOf(i));
}

async function openNodeRedis(url: string, folder: string): Promise<Send> {
  const redis = await connectNodeRedis(url, folder);
  await redis.scriptLoad(LUA);
  return (i) => redis.evalSha(DIGEST, { keys: keysOf(i), arguments: argumentsOf(i).map(String) });
}

function byAdapter(redis: IRedisClient): Send {
  redis.defineCommand('settle', { numberOfKeys: KEYS, lua: LUA });
  return (i) => redis.runCommand('settle', [...keysOf(i), ...argumentsOf(i)]);
}

// The rivals are not among our packages, so the compiler does not know their types.
const load = createRequire(import.meta.url);

function connectNodeRedis(url: string, folder: string) {
  return load(folder).createClient({ url }).on('error', console.error).connect();
}

function connectGlide(url: string, folder: string) {
  const { hostname: host, port } = new URL(url);
  const addresses = [{ host, port: Number(port) }];
  return load(folder).GlideClient.createClient({ addresses, requestTimeout: GLIDE_TIMEOUT_MS });
}
