import type { GatewayConfig } from '@sluice/shared/config/config';
import { Directory } from '@sluice/shared/directory/directory';
import { RedisClock } from '@sluice/shared/redis/clock';
import { keyNames } from '@sluice/shared/redis/key-names';
import { connectPatiently, waitForRedis } from '@sluice/shared/redis/redis';
import { applyConfig, type MadeKey } from './apply-config.js';

const REDIS_MS = 10_000;

/** Brings workspaces, keys and routes into Redis, without a running gateway. */
export async function applyToRedis(
  config: GatewayConfig,
  processEnv: NodeJS.ProcessEnv,
  redisUrl: string,
  cell: string,
): Promise<MadeKey[]> {
  const redis = connectPatiently(redisUrl);
  try {
    await waitForRedis(redis, REDIS_MS);
    const clock = new RedisClock();
    await clock.synchronise(redis);
    return await applyConfig(config, processEnv, new Directory(redis, keyNames(cell)), clock);
  } finally {
    redis.disconnect();
  }
}
