#!/usr/bin/env node
/** Brings gateway.yaml into Redis and ends: what a deployment runs before its first api process. */
import { loadConfig } from '@sluice/shared/config/config';
import { FaultsError } from '@sluice/shared/config/faults';
import { readEnv } from '@sluice/shared/process/env';
import { sharedEnv } from '@sluice/shared/process/shared-env';
import { applyToRedis } from './apply-to-redis.js';

try {
  const { REDIS_URL, SLUICE_CELL, GATEWAY_CONFIG } = readEnv(process.env, sharedEnv);
  const config = loadConfig(GATEWAY_CONFIG, process.env);
  const made = await applyToRedis(config, process.env, REDIS_URL, SLUICE_CELL);
  for (const { workspace, name, value } of made)
    console.log(`New key "${name}" of workspace ${workspace}, shown only now: ${value}`);
  console.log(`Applied: ${config.workspaces.map(({ id }) => id).join(', ') || 'no workspaces'}`);
} catch (error) {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`sluice apply: ${error instanceof FaultsError ? text : `failed: ${text}`}\n`);
  process.exitCode = 1;
}
