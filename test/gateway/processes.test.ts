/** api and worker, each on its own: what `npm run api` and `npm run worker` run. */

import type { RedisServer } from '@sluice/cli/start/redis-server';
import type { ExecutionContext } from 'ava';
import { makeFolder, until } from '../helpers/all-in-one.js';
import { launch } from '../helpers/launch.js';
import test from '../helpers/needs-redis.js';
import { ownPort } from '../helpers/own-port.js';
import { startTestRedis } from '../helpers/test-redis.js';

const statusOf = (url: string) =>
  fetch(url, { headers: { connection: 'close' } }).then(
    (response) => response.status,
    () => 0,
  );

async function launchRedis(t: ExecutionContext): Promise<RedisServer> {
  const redis = await startTestRedis({ folder: makeFolder(t) });
  t.teardown(() => redis.stop());
  return redis;
}

test('an api is alive by itself, and ready while there is a worker', async (t) => {
  const { url: REDIS_URL } = await launchRedis(t);
  // An empty token is what a compose file passes on when there is none.
  const api = await launch(t, 'api', { REDIS_URL, ADMIN_TOKEN: '' });
  await until(async () => (await statusOf(`${api.url}/healthz`)) === 200);
  t.is(await statusOf(`${api.url}/readyz`), 503);
  await until(() => api.output().includes('ADMIN_TOKEN is empty: this process has no admin listener'));

  const worker = await launch(t, 'worker', { REDIS_URL });
  await until(async () => (await statusOf(`${worker.url}/readyz`)) === 200);
  t.is(await statusOf(`${worker.url}/healthz`), 200);
  await until(async () => (await statusOf(`${api.url}/readyz`)) === 200);

  worker.child.kill('SIGTERM');
  t.is(await worker.ended, 0, worker.output());
  await until(async () => (await statusOf(`${api.url}/readyz`)) === 503);
  t.is(await statusOf(`${api.url}/healthz`), 200);

  api.child.kill('SIGTERM');
  t.is(await api.ended, 0, api.output());
});

for (const role of ['api', 'worker'] as const) {
  test(`the ${role} says what is wrong with its environment`, async (t) => {
    const { ended, output } = await launch(t, role, { DRAIN_MS: 'long' });
    t.is(await ended, 1);
    t.regex(output(), new RegExp(`^sluice ${role}: environment: 2 mistakes\n`));
    t.regex(output(), /^ {2}REDIS_URL: is not set/m);
    t.regex(output(), /^ {2}DRAIN_MS: must be/m);
  });

  test(`the ${role} does not wait for ever for a Redis that is not there`, async (t) => {
    const { ended, output } = await launch(t, role, { REDIS_URL: `redis://127.0.0.1:${await ownPort()}` });
    t.is(await ended, 1);
    t.regex(output(), new RegExp(`sluice ${role}: cannot start: Redis did not answer within .*ECONNREFUSED`));
  });

  test(`the ${role} says that its port is in use, and which variable changes it`, async (t) => {
    const { url: REDIS_URL } = await launchRedis(t);
    const port = new URL(REDIS_URL).port;
    const variable = role === 'api' ? 'PORT' : 'METRICS_PORT';
    const { ended, output } = await launch(t, role, { REDIS_URL, PORT: port, METRICS_PORT: port });
    t.is(await ended, 1);
    t.regex(
      output(),
      new RegExp(
        `sluice ${role}: cannot start: port ${port} of 127.0.0.1 is in use; set ${variable} to another one\n`,
      ),
    );
  });
}
