import type { GatewayConfig } from '@sluice/shared/config/config';
import { Directory } from '@sluice/shared/directory/directory';
import { KeyDigests } from '@sluice/shared/directory/key-digests';
import type { SecretKeys } from '@sluice/shared/process/secret-keys';
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
  keyPepper: SecretKeys | undefined,
): Promise<MadeKey[]> {
  const redis = connectPatiently(redisUrl);
  try {
    await waitForRedis(redis, REDIS_MS);
    const clock = new RedisClock();
    await clock.synchronise(redis);
    const directory = new Directory(redis, keyNames(cell));
    return await applyConfig(config, processEnv, directory, clock, new KeyDigests(keyPepper));
  } finally {
    redis.disconnect();
  }
}
