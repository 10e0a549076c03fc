#!/usr/bin/env node
/**
 * Waits until this version understands everything that is queued: what a rollback runs before the newer workers end. The
 * argument is how many seconds that may take. Exits with 1 when they are over.
 */
import { loadConfig } from '@sluice/shared/config/config';
import { readEnv } from '@sluice/shared/process/env';
import { sharedEnv } from '@sluice/shared/process/shared-env';
import { waitForNewerJobs } from './newer-jobs.js';
import { openCell } from './open-cell.js';

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
  const { REDIS_URL: redisUrl, SLUICE_CELL: cell, SLUICE_SHARDS: shards } = env;
  const { close, ...opened } = await openCell({ redisUrl, cell, shards });
  try {
    const parts = { ...opened, providers: [...providers.keys()] };
    return await waitForNewerJobs(parts, seconds * 1000, (count) =>
      console.log(`${count} requests are left that only the newer version understands.`),
    );
  } finally {
    close();
  }
}
