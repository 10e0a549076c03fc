/** The two programs of the floor, each with a Redis of its own, and the provider that they call. */
import { findOrInstallRedis } from '@sluice/cli/start/find-redis';
import { freePort } from '@sluice/cli/start/free-port';
import { startRedis } from '@sluice/cli/start/redis-server';
import { type Child, scratch, startOwn } from '../children.js';
import type { Caller } from '../load/load.js';
import type { Measured } from '../process-cost.js';
import type { FloorEnv } from './process.js';

export const PROGRAMS = ['shape', 'full'] as const;

export interface Running {
  urls: readonly string[];
  caller: Caller;
  processes: Measured[];
  stop(): Promise<void>;
}

export async function startConstantUpstream(): Promise<Child & { url: string }> {
  const port = String(await freePort());
  const child = await startOwn('@sluice/bench/floor/upstream', { PORT: port });
  return { ...child, url: `http://127.0.0.1:${port}` };
}

let started = 0;

export async function startProgram(
  name: (typeof PROGRAMS)[number],
  upstreamUrl: string,
  node?: string,
): Promise<Running> {
  const redis = await startRedis({
    program: findOrInstallRedis(console.error),
    folder: scratch(`${name}-${++started}`),
  });
  const port = String(await freePort());
  const env: FloorEnv = { REDIS_URL: redis.url, UPSTREAM_URL: upstreamUrl, PORT: port };
  const worker = await startOwn(`@sluice/bench/floor/${name}-worker`, env, [], node);
  const api = await startOwn(`@sluice/bench/floor/${name}-api`, env, [], node);
  return {
    urls: [`http://127.0.0.1:${port}`],
    caller: { key: 'demo', model: 'fast' },
    processes: [
      { name: 'api', pid: api.pid },
      { name: 'worker', pid: worker.pid },
      { name: 'redis', pid: redis.pid },
    ],
    async stop() {
      await api.stop();
      await worker.stop();
      await redis.stop();
    },
  };
}
