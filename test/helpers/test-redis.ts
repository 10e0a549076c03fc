import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findOrInstallRedis } from '@sluice/cli/start/find-redis';
import { type RedisServer, type RedisServerOptions, startRedis } from '@sluice/cli/start/redis-server';
import { giveUpSilentAfter } from '@sluice/shared/redis/redis';
import type { Redis } from 'ioredis';
import { ownPort } from './own-port.js';
import { PATIENT } from './test-process.js';
import { withParent } from './with-parent.js';

// A connection that is given up sends its commands again, and what a test sends may not come twice.
giveUpSilentAfter(PATIENT.silenceMs);

/** The Redis of this machine as a server of this process alone: it ends with it. */
export async function startTestRedis({
  wrapper = [],
  ...options
}: Omit<RedisServerOptions, 'program'>): Promise<RedisServer> {
  const program = findOrInstallRedis(() => {});
  const port = options.port ?? (await ownPort());
  return startRedis({ ...options, port, program, wrapper: [...withParent(), ...wrapper] });
}

/** The variable in which the runner tells the tests the address of the Redis that they share. */
export const SHARED_REDIS = 'TEST_REDIS_URL';

let shared: { server: Promise<RedisServer>; users: number } | undefined;

/** A Redis that others use too, each in a cell of its own. Outside `npm test` it is one for this process. */
export async function shareRedis(url = process.env[SHARED_REDIS]): Promise<RedisServer> {
  if (url !== undefined) return { url, pid: 0, stop: async () => {} };
  shared ??= { server: startSharedRedis(), users: 0 };
  const mine = shared;
  mine.users++;
  const server = await mine.server;
  return {
    ...server,
    async stop() {
      if (--mine.users > 0) return;
      shared = undefined;
      await server.stop();
    },
  };
}

export async function startSharedRedis(): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-redis-'));
  const server = await startTestRedis({ folder });
  return {
    ...server,
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Removes everything that a cell has in a Redis that others use too. */
export async function removeCell(redis: Redis, cell: string): Promise<void> {
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', `{${cell}[}/]*`, 'COUNT', 1000);
    cursor = next;
    if (keys.length > 0) await redis.unlink(keys);
  } while (cursor !== '0');
}
