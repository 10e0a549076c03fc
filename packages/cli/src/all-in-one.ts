/**
 * Everything on one machine: Redis, a simulated upstream when there is no provider key, api and worker processes. It owns
 * all of them and stops them in the order that loses nothing: callers first, then workers, then what they depend on.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { applyConfig } from '@sluice/shared/apply-config';
import { RedisClock } from '@sluice/shared/clock';
import { type GatewayConfig, loadConfig } from '@sluice/shared/config';
import { Directory } from '@sluice/shared/directory';
import { lookupEnv } from '@sluice/shared/env-lookup';
import { makeGatewayKey } from '@sluice/shared/gateway-key';
import { keyNames } from '@sluice/shared/key-names';
import { connectPatiently, waitForRedis } from '@sluice/shared/redis';
import { findOrInstallRedis } from './find-redis.js';
import { freePort } from './free-port.js';
import { ManagedProcess } from './managed-process.js';
import { startRedis } from './redis-server.js';
import { needsSimulator, simulatedEnv } from './simulated-upstream.js';
import type { StartEnv } from './start-env.js';

const READY_MS = 30_000;
const LOOPBACK = '127.0.0.1';

export interface AllInOneOptions {
  apis: number;
  workers: number;
  /** Where Redis keeps its data, and the key that was made is remembered. */
  folder: string;
  env: StartEnv;
  processEnv: NodeJS.ProcessEnv;
  say(line: string): void;
}

export interface AllInOne {
  apiUrls: string[];
  /** The demo workspace's key: the one from GATEWAY_KEY, or the one that was made. */
  key: string;
  config: GatewayConfig;
  simulated: boolean;
  stop(): Promise<void>;
}

export async function startAllInOne(options: AllInOneOptions): Promise<AllInOne> {
  const { apis, workers, folder, env, say } = options;
  const processEnv = { ...options.processEnv };
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const stopNext of stops.reverse()) await stopNext();
    stops.length = 0;
  };
  const run = async (name: string, module: string, env: NodeJS.ProcessEnv) => {
    const managed = new ManagedProcess({
      name,
      script: fileURLToPath(import.meta.resolve(module)),
      env,
      say,
    });
    stops.push(() => managed.stop());
    process.once('exit', () => managed.kill());
    await managed.start(READY_MS);
  };

  try {
    let config = loadConfig(env.GATEWAY_CONFIG, processEnv);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (env.REDIS_URL === undefined) {
      const redis = await startRedis({ program: findOrInstallRedis(say), folder: join(folder, 'redis') });
      stops.push(() => redis.stop());
      process.once('exit', () => redis.abandon());
      processEnv.REDIS_URL = redis.url;
    }

    const simulated = needsSimulator(config, processEnv);
    if (simulated) {
      const port = await freePort();
      await run('simulated upstream', '@sluice/simulator/main', {
        ...processEnv,
        PORT: String(port),
        HOST: LOOPBACK,
      });
      Object.assign(processEnv, simulatedEnv(config, `http://${LOOPBACK}:${port}`));
      config = loadConfig(env.GATEWAY_CONFIG, processEnv);
    }
    const key = rememberKey(processEnv, join(folder, 'gateway-key'));
    await applyToRedis(config, processEnv, env.SLUICE_CELL);

    for (let i = 1, next = env.METRICS_PORT; i <= workers; i++) {
      const port = await freePort(next);
      next = port + 1;
      await run(`worker ${i}`, '@sluice/worker/main', { ...processEnv, METRICS_PORT: String(port) });
    }
    const apiUrls: string[] = [];
    for (let i = 1; i <= apis; i++) {
      const port = i === 1 ? env.PORT : await freePort(env.PORT + i - 1);
      await run(
        `api ${i}`,
        '@sluice/api/main',
        withoutProviderKeys({ ...processEnv, PORT: String(port) }, config),
      );
      apiUrls.push(`http://${env.HOST === '0.0.0.0' ? LOOPBACK : env.HOST}:${port}`);
    }
    return { apiUrls, key, config, simulated, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Without GATEWAY_KEY a key is made once and kept, so that the next start shows one that still works. */
function rememberKey(processEnv: NodeJS.ProcessEnv, file: string): string {
  const given = lookupEnv(processEnv, 'GATEWAY_KEY').value;
  if (given !== undefined) return given;
  if (!existsSync(file)) writeFileSync(file, makeGatewayKey(), { mode: 0o600 });
  const key = readFileSync(file, 'utf8').trim();
  processEnv.GATEWAY_KEY = key;
  return key;
}

async function applyToRedis(
  config: GatewayConfig,
  processEnv: NodeJS.ProcessEnv,
  cell: string,
): Promise<void> {
  const redis = connectPatiently(processEnv.REDIS_URL ?? '');
  try {
    await waitForRedis(redis, READY_MS);
    const clock = new RedisClock();
    await clock.synchronise(redis);
    await applyConfig(config, processEnv, new Directory(redis, keyNames(cell)), clock);
  } finally {
    redis.disconnect();
  }
}

/** The api resolves no provider key, and here it is not even given one. */
function withoutProviderKeys(processEnv: NodeJS.ProcessEnv, config: GatewayConfig): NodeJS.ProcessEnv {
  const secrets = [...config.providers.values()].flatMap(({ apiKeyEnv }) =>
    apiKeyEnv ? [apiKeyEnv, `${apiKeyEnv}_FILE`] : [],
  );
  return Object.fromEntries(Object.entries(processEnv).filter(([name]) => !secrets.includes(name)));
}
