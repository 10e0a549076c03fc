/**
 * `npm run image`: what can be tried of the image and of `docker compose up --scale worker=3` without a container engine.
 * Needs root, for mount namespaces and another user. Everything listens on loopback addresses.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findOrInstallRedis } from '@sluice/cli/start/find-redis';
import { startRedis } from '@sluice/cli/start/redis-server';
import { parse } from 'yaml';
import { makeSecretKey } from '../helpers/secret-key.js';
import { until } from '../helpers/until.js';
import { buildImage } from './build-image.js';
import { startNameServer } from './dns.js';
import { Prometheus } from './prometheus.js';
import { interpolate, Service, type ServiceConfig } from './service.js';

const ADMIN_TOKEN = 'a-token-for-this-run';
/** What compose requires of .env. */
const SECRETS: Record<string, string> = {
  PAYLOAD_KEY: makeSecretKey(),
  KEY_PEPPER: makeSecretKey(),
  REDIS_ADMIN_PASSWORD: randomBytes(24).toString('hex'),
  REDIS_WORKER_PASSWORD: randomBytes(24).toString('hex'),
};
const fillIn = (value: string) =>
  value.replace(/\$\{(\w+):\?[^}]*\}/g, (_whole, name: string) => SECRETS[name] ?? '');
const repository = fileURLToPath(new URL('../../../', import.meta.url));
if (process.getuid?.() !== 0) {
  console.error(
    'npm run image needs root: it makes mount namespaces and runs the processes as another user.',
  );
  process.exit(2);
}
const compose = parse(readFileSync(join(repository, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
  services: Record<string, ServiceConfig>;
};
const image = buildImage(repository);
const redisFolder = join(image.root, '..', 'redis');
const redis = await startRedis({
  program: findOrInstallRedis(() => {}),
  folder: redisFolder,
  // Its users are given by options, so that this process still reaches it without one.
  extra: [...(compose.services.redis?.command.slice(2).map(interpolate) ?? []), ...redisUsers()],
});
const redisPort = new URL(redis.url).port;

const workerAddresses = ['127.1.0.11', '127.1.0.12', '127.1.0.13'];
const addresses: Record<string, string[]> = { api: ['127.1.0.21'], worker: workerAddresses };
const nameServer = await startNameServer('127.1.0.53', (name) => addresses[name] ?? []);
const prometheus = new Prometheus(repository, '127.1.0.53', '127.1.0.31:9090');

/** As deploy/redis/start.sh makes them. */
function redisUsers(): string[] {
  return readFileSync(join(repository, 'deploy/redis/users.acl'), 'utf8')
    .replace('change-me-admin', SECRETS.REDIS_ADMIN_PASSWORD ?? '')
    .replace('change-me-worker', SECRETS.REDIS_WORKER_PASSWORD ?? '')
    .split('\n')
    .filter((line) => /^user sluice-(?:admin|worker) /.test(line))
    .flatMap((line) => `--${line}`.split(' '));
}

const running: Service[] = [];
function start(name: string, address: string, extra: Record<string, string> = {}): Service {
  const config = compose.services[name];
  if (!config) throw new Error(`no service ${name}`);
  const environment = Object.fromEntries(
    Object.entries(config.environment ?? {}).map(([variable, value]) => [variable, fillIn(value)]),
  );
  if (environment.REDIS_URL) environment.REDIS_URL = environment.REDIS_URL.replace(/:\d+$/, `:${redisPort}`);
  const hosts = { redis: new URL(redis.url).hostname, simulator: '127.1.0.2' };
  const service = new Service(image, { ...config, environment }, address, hosts, extra);
  running.push(service);
  return service;
}
function check(what: string, holds: boolean, detail = ''): void {
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}${holds ? '' : `\n${detail}`}`);
  if (!holds) process.exitCode = 1;
}

try {
  const simulator = start('simulator', '127.1.0.2', { SIMULATOR_LATENCY_MS: '1500' });
  const apply = start('apply', '127.1.0.3');
  const [applied] = await apply.ended;
  const key = /shown only now: (\S+)/.exec(apply.output)?.[1] ?? '';
  check('apply ends with 0 and shows a key', applied === 0 && key !== '', apply.output);

  const workers = workerAddresses.map((address) => start('worker', address));
  for (const [i, worker] of workers.entries()) {
    await until(`worker ${i + 1} is healthy`, () => worker.isHealthy());
    check(`worker ${i + 1} is healthy by compose's check`, true);
  }
  const api = start('api', '127.1.0.21', { ADMIN_TOKEN });
  await until('the api is healthy', () => api.isHealthy());
  check("the api is healthy by compose's check", await simulator.isHealthy(), 'the simulator is not');
  check(
    'the worker says that upstream is simulated',
    workers.some(({ output }) => output.includes('SIMULATED')),
  );

  const wrote = await api.exec(['sh', '-c', 'touch x || touch /etc/x || touch /var/tmp/x']);
  check('nothing but /tmp can be written', wrote.status !== 0, wrote.output);
  const who = await api.exec(['id', '-u']);
  check('it runs as 1000', who.output.trim() === '1000', who.output);

  const ask = () =>
    fetch('http://127.1.0.21:8080/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Say hello.' }] }),
    });
  check('the first request is answered', (await ask()).status === 200);
  const page = await fetch('http://127.1.0.21:8081/');
  check('the console is there', page.status === 200 && (await page.text()).includes('modulepreload'));
  const status = await api.exec(['sluice', 'status'], {
    ADMIN_TOKEN,
    ADMIN_URL: 'http://127.1.0.21:8081',
  });
  check('sluice status works in the container', status.status === 0, status.output);
  for (const address of ['127.1.0.21', '127.1.0.13']) {
    const { status } = await fetch(`http://${address}:9464/metrics`);
    check(`${address} has metrics`, status === 200);
  }

  const isUp = async (job: string, count: number) => {
    const targets = (await prometheus.targets()).filter(({ labels }) => labels.job === job);
    return targets.length === count && targets.every(({ health }) => health === 'up');
  };
  await until('the targets', async () => (await isUp('api', 1)) && (await isUp('worker', 3)), 60_000);
  check('Prometheus finds the api and three workers by name', true);
  workerAddresses.pop();
  await until('the target to go', () => isUp('worker', 2), 60_000);
  check('a worker whose name is gone is forgotten', true);

  const answers = Array.from({ length: 6 }, ask);
  await until('requests in flight', async () => {
    const text = await (await fetch('http://127.1.0.21:9464/metrics')).text();
    return /^gateway_provider_active\{provider="openai"\} 6$/m.test(text);
  });
  for (const { child } of [api, ...workers]) child.kill('SIGTERM');
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  check(
    'requests in flight are answered after SIGTERM',
    statuses.every((status) => status === 200),
    String(statuses),
  );
  const ends = await Promise.all([api, ...workers].map(({ ended }) => ended));
  check(
    'all end with 0',
    ends.every(([code]) => code === 0),
    api.output.slice(-1000),
  );
} catch (error) {
  check(
    'the run',
    false,
    `${error}\n${[...running, prometheus].map(({ output }) => output.slice(-1000)).join('\n')}`,
  );
} finally {
  for (const { child } of [...running, prometheus]) child.kill('SIGKILL');
  nameServer.close();
  await redis.stop();
  rmSync(join(image.root, '..'), { recursive: true, force: true });
}
