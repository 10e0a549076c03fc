#!/usr/bin/env node
/**
 * Waits until this version understands everything that is queued: what a rollback runs before the newer workers end. The
 * argument is how many seconds that may take. Exits with 1 when they are over.
 */
import { loadConfig } from '@sluice/shared/config/config';
import { readEnv } from '@sluice/shared/process/env';
import { sharedEnv } from '@sluice/shared/process/shared-env';
import { RedisClock } from '@sluice/shared/redis/clock';
import { withCell } from '@sluice/shared/redis/cluster';
import { keyNames } from '@sluice/shared/redis/key-names';
import { connectPatiently, waitForRedis } from '@sluice/shared/redis/redis';
import { waitForNewerJobs } from './newer-jobs.js';

const REDIS_MS = 10_000;
const STANDARD_SECONDS = 330;

try {
  const left = await waitFor(Number(process.argv[2] ?? STANDARD_SECONDS));
  if (left > 0) process.exitCode = 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function waitFor(seconds: number): Promise<number> {
  const env = readEnv(process.env, sharedEnv);
  const { providers } = loadConfig(env.GATEWAY_CONFIG, process.env, { added: 'any' });
  const redis = connectPatiently(withCell(env.REDIS_URL, env.SLUICE_CELL));
  try {
    await waitForRedis(redis, REDIS_MS);
    const names = keyNames(env.SLUICE_CELL);
    const clock = new RedisClock(names);
    await clock.synchronise(redis);
    const parts = { redis, names, clock, providers: [...providers.keys()] };
    return await waitForNewerJobs(parts, seconds * 1000, (count) =>
      console.log(`${count} requests are left that only the newer version understands.`),
    );
  } finally {
    redis.disconnect();
  }
}
