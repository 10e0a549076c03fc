#!/usr/bin/env node
/** Brings gateway.yaml into Redis and ends: what a deployment runs before its first api process. */
import { loadConfig } from '@sluice/shared/config/config';
import { MistakesError } from '@sluice/shared/contract/mistakes';
import { KeyDigests } from '@sluice/shared/directory/key-digests';
import { readEnv } from '@sluice/shared/process/env';
import { pepperEnv, sharedEnv } from '@sluice/shared/process/shared-env';
import { applyConfig } from './apply-config.js';
import { withDirectory } from './open-directory.js';

try {
  const env = readEnv(process.env, { ...sharedEnv, ...pepperEnv });
  // Mistakes are told before Redis is waited for. Only Redis knows which other providers there are.
  loadConfig(env.GATEWAY_CONFIG, process.env, { added: 'any' });
  const { config, made, notes } = await withDirectory(
    { redisUrl: env.REDIS_URL, cell: env.SLUICE_CELL, shards: env.SLUICE_SHARDS },
    async (directory, clock, added) => {
      const config = loadConfig(env.GATEWAY_CONFIG, process.env, { added });
      const digests = new KeyDigests(env.KEY_PEPPER);
      return { config, ...(await applyConfig(config, process.env, directory, clock, digests, added)) };
    },
  );
  for (const { workspace, name, value } of made)
    console.log(`New key "${name}" of workspace ${workspace}, shown only now: ${value}`);
  for (const note of notes) console.log(`Note: ${note}`);
  console.log(`Applied: ${config.workspaces.map(({ id }) => id).join(', ') || 'no workspaces'}`);
} catch (error) {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`sluice apply: ${error instanceof MistakesError ? text : `failed: ${text}`}\n`);
  process.exitCode = 1;
}
