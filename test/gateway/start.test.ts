import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeGatewayKey } from '@sluice/shared/contract/gateway-key';
import { keyNames } from '@sluice/shared/redis/key-names';
import { connectPatiently } from '@sluice/shared/redis/redis';
import type { ExecutionContext } from 'ava';
import {
  chat,
  commandOf,
  isRunning,
  keyOf,
  makeFolder,
  REPOSITORY,
  type Run,
  run,
  start,
  until,
} from '../helpers/all-in-one.js';
import test from '../helpers/needs-redis.js';
import { sluice } from '../helpers/sluice.js';
import { startTestRedis } from '../helpers/test-redis.js';

const FIVE_HEADERS = ['provider', 'model', 'fallback-used', 'latency-ms', 'cost-usd'];
/** A call takes long enough to be seen under way, also on a machine that stops for a while. */
const SLOW_MS = '8000';

const processesOf = (gateway: Run, name: string) =>
  gateway.offspring().filter((pid) => commandOf(pid).includes(name));
const workersOf = (gateway: Run) => processesOf(gateway, 'worker/dist/main.js');
const redisOf = (gateway: Run) => processesOf(gateway, 'redis-server');

async function chatUntilTaken(gateway: Run, key: string): Promise<Promise<Response>> {
  const note = JSON.parse(readFileSync(join(gateway.folder, 'redis', 'server.json'), 'utf8'));
  const redis = connectPatiently(note.url);
  const active = keyNames('sluice').queueKey('openai', 'active');
  // The catalogue's own jobs must be over before "one is active" means the request.
  await until(async () => (await redis.llen(active)) === 0);
  const answer = chat(gateway.port, key);
  await until(async () => (await redis.llen(active)) === 1);
  redis.disconnect();
  return answer;
}

async function endsCleanly(t: ExecutionContext, gateway: Run): Promise<void> {
  t.deepEqual(await gateway.ended, { code: 0, signal: null }, gateway.output());
  t.true(gateway.output().includes('Stopped.'));
  t.deepEqual(gateway.offspring().map(commandOf), []);
}

test('npm start shows a curl line that works, and outlives its workers, its Redis and itself being killed', async (t) => {
  const folder = makeFolder(t);
  const first = await start(t, { folder });
  const key = keyOf(first.output());
  const payloadKey = readFileSync(join(folder, 'payload-key'), 'utf8');
  t.is(statSync(join(folder, 'payload-key')).mode & 0o777, 0o600);
  t.false(first.output().includes('unencrypted'));

  const shown = first.output();
  t.regex(shown, new RegExp(`^Sluice is ready at http://127\\.0\\.0\\.1:${first.port}/v1$`, 'm'));
  t.regex(key, /^gw_live_\w{38}$/);
  t.regex(shown, /SIMULATED upstream/);
  const curl = /^ {2}(curl -i .*)$/m.exec(shown)?.[1] ?? '';
  const { stdout: answer } = await promisify(execFile)('bash', ['-c', curl]);
  t.regex(answer, /^HTTP\/1\.1 200 OK\r\n/);
  for (const header of FIVE_HEADERS) t.regex(answer, new RegExp(`^x-gateway-${header}: \\S+\r$`, 'mi'));
  t.regex(answer, /^x-gateway-cost-usd: 0\.000000\r$/im, 'nobody bills a simulated call');
  t.is(redisOf(first).length, 1);

  const other = await run(t, { folder });
  t.is((await other.ended).code, 1);
  t.regex(other.output(), new RegExp(`sluice start: cannot start: .* is in use by process ${first.pid}\n`));
  t.is((await chat(first.port, key)).status, 200);

  const [worker = 0] = workersOf(first);
  process.kill(worker, 'SIGKILL');
  await first.says('The worker 1 process ended (SIGKILL); starting it again.');
  // On a busy machine a request's wait may run out before the worker has started.
  await until(async () => (await chat(first.port, key)).status === 200);
  t.not(workersOf(first)[0], worker);

  const [redis = 0] = redisOf(first);
  process.kill(redis, 'SIGKILL');
  await first.says('The Redis process ended; starting it again.\n');
  // It has its data again: the key is known.
  await until(async () => (await chat(first.port, key)).status === 200);
  const redisPids = redisOf(first);
  t.is(redisPids.length, 1);
  t.not(redisPids[0], redis);

  first.child.kill('SIGKILL');
  await first.ended;
  await until(() => first.offspring().every((pid) => redisPids.includes(pid)));
  t.true(redisPids.every(isRunning));

  const second = await start(t, { folder, env: { SIMULATOR_LATENCY_MS: SLOW_MS } });
  t.is(keyOf(second.output()), key);
  t.deepEqual(redisOf(second), redisPids);
  const slow = await chatUntilTaken(second, key);
  const adminEnv = {
    ADMIN_URL: readFileSync(join(folder, 'admin-url'), 'utf8').trim(),
    ADMIN_TOKEN: readFileSync(join(folder, 'admin-token'), 'utf8').trim(),
  };
  const revoked = await sluice('keys revoke demo/default --yes', { env: adminEnv });
  t.is(revoked.code, 0, revoked.err);
  const added = await sluice('providers set house --preset ollama', { env: adminEnv });
  t.is(added.code, 0, added.err);
  second.child.kill('SIGINT');
  t.is((await slow).status, 200);
  await endsCleanly(t, second);
  t.false(redisPids.some(isRunning));

  // The key that was revoked stays dead, and npm start shows one that works.
  const third = await start(t, { folder });
  const fresh = keyOf(third.output());
  t.regex(third.output(), /^No provider of gateway\.yaml has a key: .*and are really called: house$/m);
  t.not(fresh, key);
  t.is((await chat(third.port, fresh)).status, 200);
  t.is((await chat(third.port, key)).status, 401);
  t.is(readFileSync(join(folder, 'payload-key'), 'utf8'), payloadKey);
  t.false(third.output().includes(payloadKey.trim()));
});

test('Ctrl-C drains npm start and all its processes; the key of GATEWAY_KEY is used', async (t) => {
  const key = makeGatewayKey();
  const gateway = await start(t, {
    command: ['npm', 'start', '--'],
    args: ['--workers', '2', '--apis', '2'],
    env: { GATEWAY_KEY: key, SIMULATOR_LATENCY_MS: SLOW_MS },
  });
  t.is(keyOf(gateway.output()), key);
  t.is(workersOf(gateway).length, 2);
  const urls = gateway
    .output()
    .match(/^Sluice is ready at http:\/\/127.0.0.1:(\d+)\/v1 and http:\/\/127.0.0.1:(\d+)\/v1$/m);
  const ports = [Number(urls?.[1]), Number(urls?.[2])];
  t.is(ports[0], gateway.port);
  t.is(new Set(ports).size, 2);

  // A worker that the machine has stopped for seconds counts as gone meanwhile.
  await until(async () => (await fetch(`http://127.0.0.1:${ports[1]}/readyz`)).status === 200);
  t.is((await chat(ports[1] ?? 0, key)).status, 200);
  const slow = await chatUntilTaken(gateway, key);
  process.kill(-gateway.pid, 'SIGINT');
  t.is((await slow).status, 200);
  await endsCleanly(t, gateway);
});

test('the Redis of REDIS_URL is used, none is started, and a second Ctrl-C does not wait', async (t) => {
  const redis = await startTestRedis({ folder: makeFolder(t) });
  t.teardown(() => redis.stop());
  // In one folder, so that a second try, after somebody took its port, makes no second key.
  const folder = makeFolder(t);
  const gateway = await start(t, { folder, env: { REDIS_URL: redis.url, SIMULATOR_LATENCY_MS: '600000' } });
  t.deepEqual(redisOf(gateway), []);

  const client = connectPatiently(redis.url);
  t.teardown(() => client.disconnect());
  t.is(await client.hlen(keyNames('sluice').keys), 1);
  const active = keyNames('sluice').queueKey('openai', 'active');
  const unanswered = t.throwsAsync(chat(gateway.port, keyOf(gateway.output())));
  await until(async () => (await client.llen(active)) >= 1);
  gateway.child.kill('SIGINT');
  await gateway.says('Draining');
  const again = setInterval(() => gateway.child.kill('SIGINT'), 100);
  t.is((await gateway.ended).code, 1);
  clearInterval(again);
  await unanswered;
  await until(() => gateway.offspring().length === 0);
  t.is(await client.ping(), 'PONG');
});

test('Ctrl-C while it is starting leaves nothing running', async (t) => {
  for (;;) {
    const gateway = await run(t);
    await until(() => redisOf(gateway).length === 1);
    gateway.child.kill('SIGINT');
    const { code } = await gateway.ended;
    await until(() => gateway.offspring().length === 0);
    // On a busy machine it may have started before the signal came.
    if (gateway.output().includes('Sluice is ready')) continue;
    t.is(code, 1);
    return;
  }
});

test('a provider with an address of its own is not passed off as simulated', async (t) => {
  const folder = makeFolder(t);
  const config = join(REPOSITORY, 'test', 'fixtures', 'own-server.yaml');
  const gateway = await start(t, { folder, env: { GATEWAY_CONFIG: config } });
  t.notRegex(gateway.output(), /SIMULATED/);
  t.regex(
    gateway.output(),
    /^No key is set for own \(OWN_SERVER_KEY\): every call fails until you set one and start again\. The simulated upstream stands in only for/m,
  );
  const key = /^Key of workspace team: (\S+)$/m.exec(gateway.output())?.[1] ?? '';
  const spare =
    /^New key "spare" of workspace team, shown only now: (\S+)$/m.exec(gateway.output())?.[1] ?? '';
  for (const each of [key, spare]) {
    const answer = await chat(gateway.port, each, 'house');
    t.is(answer.status, 502);
    t.regex(await answer.text(), /own\/model-1 has no key in the gateway/);
  }
});
