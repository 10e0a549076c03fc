import type { Clock } from '@sluice/shared/redis/clock';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';

export interface QueueReading {
  provider: string;
  waiting: number;
  prioritized: number;
  active: number;
  /** How long the request that waits longest has waited. */
  oldestMs: number;
}

export async function readQueue(
  redis: Redis,
  names: KeyNames,
  clock: Clock,
  provider: string,
): Promise<QueueReading> {
  const key = (name: string) => names.queueKey(provider, name);
  const [waiting, prioritized, active, head, first, last] = await Promise.all([
    redis.llen(key('wait')),
    redis.zcard(key('prioritized')),
    redis.llen(key('active')),
    redis.lindex(key('wait'), -1),
    redis.zrange(key('prioritized'), '0', '0'),
    redis.zrange(key('prioritized'), '-1', '-1'),
  ]);
  // The oldest prioritised job may be anywhere among them; the most urgent and the least urgent are near enough.
  const oldest = [head, ...first, ...last].filter((jobId) => jobId !== null);
  const since = await Promise.all(oldest.map((jobId) => redis.hget(key(jobId), 'timestamp')));
  const ages = since.map((time) => (time === null ? 0 : clock.now() - Number(time)));
  return { provider, waiting, prioritized, active, oldestMs: Math.max(0, ...ages) };
}
