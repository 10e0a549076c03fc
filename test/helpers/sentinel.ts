/** A replica of a Redis, and a Sentinel that makes it the primary when that one dies. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findOrInstallRedis } from '@sluice/cli/start/find-redis';
import type { RedisServer } from '@sluice/cli/start/redis-server';
import { connectPatiently } from '@sluice/shared/redis/redis';
import { ownPort } from './own-port.js';
import { startTestRedis } from './test-redis.js';
import { until } from './until.js';
import { spawnWithParent } from './with-parent.js';

export interface Sentinel {
  /** For REDIS_URL. */
  url: string;
  pid: number | undefined;
  replica: RedisServer;
  /** Resolves when the replica has all that the primary has, and the Sentinel knows both. */
  inSync(): Promise<void>;
  stop(): Promise<void>;
}

export async function startSentinel(primaryUrl: string): Promise<Sentinel> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-sentinel-'));
  const program = findOrInstallRedis(() => {});
  const primaryPort = new URL(primaryUrl).port;
  const replica = await startTestRedis({
    folder: join(folder, 'replica'),
    extra: ['--replicaof', `127.0.0.1 ${primaryPort}`],
  });
  const port = await ownPort();
  const config = join(folder, 'sentinel.conf');
  // A primary that the machine stops for a few seconds is not taken for dead.
  writeFileSync(
    config,
    `port ${port}
bind 127.0.0.1
dir ${folder}
sentinel monitor main 127.0.0.1 ${primaryPort} 1
sentinel down-after-milliseconds main 10000
sentinel failover-timeout main 20000
`,
  );
  const child = spawnWithParent([program, config, '--sentinel'], { stdio: 'ignore' });
  const asked = connectPatiently(`redis://127.0.0.1:${port}`);
  const primary = connectPatiently(primaryUrl);
  // Only a program that runs ends with its parent.
  await asked.ping();
  return {
    url: `redis+sentinel://main/0?sentinels=127.0.0.1:${port}`,
    pid: child.pid,
    replica,
    async inSync() {
      await until('the Sentinel to know the replica', async () => {
        const known = (await asked.call('SENTINEL', 'REPLICAS', 'main')) as unknown[];
        return known.length === 1;
      });
      await until('the replica to follow', async () => (await primary.wait(1, 1_000)) === 1);
    },
    async stop() {
      asked.disconnect();
      primary.disconnect();
      const exited = once(child, 'exit');
      child.kill();
      await exited;
      await replica.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
