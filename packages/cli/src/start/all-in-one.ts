/**
 * Everything on one machine: Redis, a simulated upstream when there is no provider key, api and worker processes. It owns
 * all of them and stops them in the order that loses nothing: callers first, then workers, then what they depend on.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SignInLink } from '@sluice/shared/admin-api';
import { loadConfig } from '@sluice/shared/config/config';
import { lookupEnv } from '@sluice/shared/config/env-lookup';
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import { KeyDigests } from '@sluice/shared/directory/key-digests';
import { KeyIssuer } from '@sluice/shared/directory/key-issuer';
import { readEnv } from '@sluice/shared/process/env';
import { NODE_OPTIONS } from '@sluice/shared/process/node-options';
import { pepperEnv } from '@sluice/shared/process/shared-env';
import { isSimulated, needsSimulator, simulatedEnv } from '@sluice/shared/process/simulated-upstream';
import { AdminClient } from '../admin/client.js';
import { type Applied, applyConfig } from '../apply/apply-config.js';
import { withDirectory } from '../apply/open-directory.js';
import type { StartEnv } from './env.js';
import { findOrBringPostgres } from './find-postgres.js';
import { findOrInstallRedis } from './find-redis.js';
import { freePort } from './free-port.js';
import { ManagedProcess } from './managed-process.js';
import { preparePlace, startPostgres } from './postgres-server.js';
import { keepRedis } from './redis-server.js';
import { findDeadKey, rememberKeys, shownKey } from './remember-keys.js';
import { rememberSecret } from './remember-secret.js';
import { withoutSecrets } from './without-secrets.js';

const READY_MS = 30_000;
const LOOPBACK = '127.0.0.1';

export interface AllInOneOptions {
  apis: number;
  workers: number;
  /** Starts a PostgreSQL, unless DATABASE_URL names one. */
  postgres?: boolean;
  /** The folder for the data of Redis and the keys that were made. */
  folder: string;
  env: StartEnv;
  processEnv: NodeJS.ProcessEnv;
  say(line: string): void;
}

export interface AllInOne {
  apiUrls: string[];
  adminUrl: string;
  /** The file of the token that was made; undefined when the environment has a token. */
  adminTokenFile: string | undefined;
  /** Signs a browser in to the console, once. */
  signInLink: string;
  /** A key of the first workspace that works: from its variable (GATEWAY_KEY), or made and remembered. */
  key: string | undefined;
  /** Keys for which gateway.yaml names no variable, made now, and what a person should know. */
  applied: Applied;
  config: GatewayConfig;
  simulated: boolean;
  /** The providers that were added beside gateway.yaml. */
  added: readonly string[];
  /** Providers that want a key and have none, with the variable that is missing. */
  keyless: ReadonlyMap<string, string>;
  stop(): Promise<void>;
}

export async function startAllInOne(options: AllInOneOptions): Promise<AllInOne> {
  const { apis, workers, folder, env, say } = options;
  const processEnv = { ...options.processEnv };
  const processes: ManagedProcess[] = [];
  process.once('exit', () => {
    for (const managed of processes) managed.kill();
  });
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const stopNext of stops.reverse()) await stopNext();
    stops.length = 0;
  };
  const run = async (name: string, module: string, env: NodeJS.ProcessEnv) => {
    const managed = new ManagedProcess({
      name,
      script: fileURLToPath(module),
      env: { NODE_OPTIONS, ...env },
      say,
    });
    stops.push(() => managed.stop());
    processes.push(managed);
    await managed.start(READY_MS);
  };

  try {
    // Which providers were added is known when Redis is there.
    let config = loadConfig(env.GATEWAY_CONFIG, processEnv, { added: 'any' });
    demandDifferentPorts(env);
    const firstPort = await demandFree('PORT', env.PORT, 'HOST', env.HOST);
    const adminPort = await demandFree('ADMIN_PORT', env.ADMIN_PORT, 'ADMIN_HOST', env.ADMIN_HOST);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    let redisUrl = env.REDIS_URL;
    if (redisUrl === undefined) {
      const redis = await keepRedis({ program: findOrInstallRedis(say), folder: join(folder, 'redis') }, say);
      stops.push(() => redis.stop());
      redisUrl = redis.url;
      processEnv.REDIS_URL = redisUrl;
    }

    if (options.postgres && env.DATABASE_URL === undefined) {
      const place = join(folder, 'postgres');
      // Before anything is downloaded.
      preparePlace(place);
      const postgres = await startPostgres({ programs: findOrBringPostgres(folder, say), folder: place });
      stops.push(() => postgres.stop());
      Object.assign(processEnv, { DATABASE_URL: postgres.url, DATABASE_OWNER_URL: postgres.ownerUrl });
      say(`PostgreSQL keeps the log and what was spent: ${withoutPassword(postgres.url)}`);
    }
    if (options.postgres || env.DATABASE_URL !== undefined)
      processEnv.ARCHIVE_SPILL_DIR ??= resolve(folder, 'spill');

    let simulated = false;
    if (needsSimulator(config, processEnv)) {
      const port = await freePort();
      const url = `http://${LOOPBACK}:${port}`;
      const simulatedProcessEnv = { ...processEnv, ...simulatedEnv(config, url) };
      const simulatedConfig = loadConfig(env.GATEWAY_CONFIG, simulatedProcessEnv, { added: 'any' });
      simulated = isSimulated(simulatedConfig, url);
      if (simulated) {
        const place = { PORT: String(port), HOST: LOOPBACK };
        const { loadShippedRegistry } = await import('@sluice/shared/registry/model-registry');
        const registry = loadShippedRegistry();
        // A mistyped model is refused as the real provider would refuse it.
        const models = { openai: registry.ids('openai'), anthropic: registry.ids('anthropic') };
        await run('simulated upstream', import.meta.resolve('@sluice/simulator/main'), {
          SIMULATOR_MODELS: JSON.stringify(models),
          ...processEnv,
          ...place,
        });
        // The workers learn from it that nobody bills their calls.
        Object.assign(processEnv, simulatedProcessEnv, { SIMULATOR_URL: url });
        config = simulatedConfig;
      }
    }
    processEnv.FILES_FOLDER ??= join(folder, 'files');
    if (env.PAYLOAD_KEY === undefined) processEnv.PAYLOAD_KEY_FILE = rememberSecret(folder, 'payload-key');
    if (env.KEY_PEPPER === undefined) processEnv.KEY_PEPPER_FILE = rememberSecret(folder, 'key-pepper');
    const { KEY_PEPPER } = readEnv(processEnv, pepperEnv);
    const { applied, key, added } = await withDirectory(
      { redisUrl, cell: env.SLUICE_CELL, shards: env.SLUICE_SHARDS },
      async (directory, clock, added) => {
        config = loadConfig(env.GATEWAY_CONFIG, processEnv, { added });
        const digests = new KeyDigests(KEY_PEPPER);
        const isDead = findDeadKey(new KeyIssuer(directory, clock, digests), clock);
        Object.assign(processEnv, await rememberKeys(config, processEnv, join(folder, 'keys'), isDead));
        const applied = await applyConfig(config, processEnv, directory, clock, digests, added);
        const others = added.filter((name) => !config.providers.has(name));
        return { applied, key: await shownKey(config, processEnv, isDead), added: others };
      },
    );

    // A port that is free now may be one that a process to come was promised.
    const promised = new Set([firstPort, adminPort]);
    const claim = async (preferred: number, host: string): Promise<number> => {
      let port = await freePort(preferred, host);
      while (promised.has(port)) port = await freePort(port + 1, host);
      promised.add(port);
      return port;
    };
    for (let i = 1; i <= workers; i++) {
      const place = { METRICS_PORT: String(await claim(env.METRICS_PORT, env.METRICS_HOST)) };
      await run(
        `worker ${i}`,
        import.meta.resolve('@sluice/worker/main'),
        withoutSecrets({ ...processEnv, ...place }, ['ADMIN_TOKEN', 'KEY_PEPPER', ...signInSecrets(config)]),
      );
    }
    const adminUrl = urlOf(env.ADMIN_HOST, adminPort);
    const adminTokenFile = env.ADMIN_TOKEN === undefined ? rememberSecret(folder, 'admin-token') : undefined;
    const adminToken = env.ADMIN_TOKEN ?? readFileSync(adminTokenFile ?? '', 'utf8').trim();
    writeFileSync(join(folder, 'admin-url'), `${adminUrl}\n`);
    const apiUrls: string[] = [];
    for (let i = 1; i <= apis; i++) {
      const port = i === 1 ? firstPort : await claim(firstPort, env.HOST);
      const metricsPort = await claim(env.METRICS_PORT, env.METRICS_HOST);
      const place = { PORT: String(port), METRICS_PORT: String(metricsPort) };
      const apiEnv = withoutSecrets({ ...processEnv, ...place }, [
        ...providerKeys(config),
        'DATABASE_OWNER_URL',
      ]);
      const admin = adminTokenFile
        ? { ...withoutSecrets(apiEnv, ['ADMIN_TOKEN']), ADMIN_TOKEN_FILE: adminTokenFile }
        : apiEnv;
      await run(
        `api ${i}`,
        import.meta.resolve('@sluice/api/main'),
        i === 1 ? { ...admin, ADMIN_PORT: String(adminPort) } : withoutSecrets(apiEnv, ['ADMIN_TOKEN']),
      );
      apiUrls.push(urlOf(env.HOST, port));
    }
    const signInLink = await makeSignInLink(adminUrl, adminToken);
    return {
      apiUrls,
      adminUrl,
      adminTokenFile,
      signInLink,
      key,
      applied,
      config,
      simulated,
      added,
      keyless: keylessOf(config, processEnv),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function makeSignInLink(adminUrl: string, token: string): Promise<string> {
  const admin = new AdminClient({ url: adminUrl, token, tokenFrom: 'ADMIN_TOKEN' });
  const { path } = await admin.send<SignInLink>('POST', '/sign-in-links');
  return adminUrl + path;
}

function urlOf(host: string, port: number): string {
  return `http://${host === '0.0.0.0' ? LOOPBACK : host}:${port}`;
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  shown.password = '';
  return shown.href;
}

/** The api resolves no provider key, and here it is not even given one. */
function providerKeys(config: GatewayConfig): string[] {
  return [...config.providers.values()].flatMap(({ apiKeyEnv, keys = [] }) =>
    [apiKeyEnv, ...keys.map((key) => key.apiKeyEnv)].flatMap((name) => name ?? []),
  );
}

function keylessOf({ providers }: GatewayConfig, env: NodeJS.ProcessEnv): Map<string, string> {
  const missing = [...providers.values()].flatMap(({ name, apiKeyEnv }): [string, string][] =>
    apiKeyEnv === undefined || lookupEnv(env, apiKeyEnv).value !== undefined ? [] : [[name, apiKeyEnv]],
  );
  return new Map(missing);
}

function signInSecrets({ access }: GatewayConfig): string[] {
  return access.oidc?.clientSecretEnv === undefined ? [] : [access.oidc.clientSecretEnv];
}

const EVERY_ADDRESS = ['0.0.0.0', '::'];

function demandDifferentPorts({ PORT, HOST, ADMIN_PORT, ADMIN_HOST }: StartEnv): void {
  const isSameHost = HOST === ADMIN_HOST || [HOST, ADMIN_HOST].some((host) => EVERY_ADDRESS.includes(host));
  if (PORT !== 0 && PORT === ADMIN_PORT && isSameHost)
    throw new Error(`PORT and ADMIN_PORT are both ${PORT}; set one of them to another port`);
}

/** 0: any port. */
async function demandFree(
  variable: string,
  port: number,
  hostVariable: string,
  host: string,
): Promise<number> {
  const free = await freePort(port, host).catch((error: NodeJS.ErrnoException) => {
    const words = HOST_MISTAKES[error.code ?? ''];
    throw words === undefined ? error : new Error(`${hostVariable} is ${host}: ${words}`);
  });
  if (port === 0 || free === port) return free;
  throw new Error(`port ${port} of ${host} is in use; set ${variable} to another one`);
}

const HOST_MISTAKES: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'no address is known for this name',
  EAI_AGAIN: 'no address is known for this name',
};
