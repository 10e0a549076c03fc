import type { Redis } from 'ioredis';
import type { ControlNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';

const agreeScript = loadScript<number, { countKey: string }, { count: number }>(
  import.meta.url,
  'agree-on-shards',
);

/**
 * The number of shards only grows. A process that knows fewer would neither serve the workspaces of the others nor show or
 * erase what they have, so it refuses to start. Older processes may know fewer while they are replaced: until none is left, no
 * new workspace gets a shard that they do not know.
 */
export async function requireShards(redis: Redis, names: ControlNames, count: number): Promise<void> {
  const known = await agreeScript(redis, { countKey: names.shardCount }, { count });
  if (known > count)
    throw new Error(
      `SLUICE_SHARDS is ${count}, but this cell has ${known} shards. Give every process at least that number (docs/production.md, Shards)`,
    );
}
