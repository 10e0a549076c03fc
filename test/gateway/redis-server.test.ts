/** Which Redis a process works with, and what it tells of one that is there and not as it should be. */

import { execFileSync } from 'node:child_process';
import { nodeOptions } from '@sluice/bench/shards/make-cluster';
import { makeFolder } from '../helpers/all-in-one.js';
import { type FakeAnswers, startFakeRedis } from '../helpers/fake-redis.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import { launch } from '../helpers/launch.js';
import test from '../helpers/needs-redis.js';
import { ownPort } from '../helpers/own-port.js';
import { scrape, sumOf } from '../helpers/scrape.js';
import { sluiceOf } from '../helpers/sluice.js';
import { startTestRedis } from '../helpers/test-redis.js';
import { until } from '../helpers/until.js';

const FULL = 'Redis is full: it has reached its maxmemory. New requests are refused until it has room.';

const infoOf = (version: string) =>
  `redis_version:${version}\r\nloading:0\r\naof_enabled:1\r\nmaxmemory_policy:noeviction\r\n`;

const UNFIT: Record<string, { fake: FakeAnswers; says: string }> = {
  'Redis 6.2': {
    fake: { info: infoOf('6.2.14') },
    says: 'Redis 6.2.14 is too old: Sluice needs Redis 7.0 or newer, or Valkey 7.2 or newer',
  },
  'a server that has no flags of scripts': {
    fake: {
      info: infoOf('7.4.0'),
      answer: (command) => (command === 'eval' ? '-ERR unexpected symbol near #' : undefined),
    },
    says: "this Redis 7.4.0 cannot run the gateway's scripts (ERR unexpected symbol near #)",
  },
};

/** Real servers that no process starts with: how Redis is started, and what the process says. */
const REFUSED: Record<
  string,
  { extra: string[] | ((port: number) => string[]); path?: string; says: string }
> = {
  'a node of a Cluster': {
    extra: nodeOptions,
    says: 'this Redis is a node of a Cluster: set REDIS_URL to redis+cluster:',
  },
  'a read-only replica': {
    extra: ['--replicaof', '127.0.0.1 1'],
    says: 'this Redis is a read-only replica: set REDIS_URL to its primary',
  },
  'a Redis that evicts any key': {
    extra: ['--maxmemory-policy', 'allkeys-lru'],
    says: 'this Redis throws keys away when its memory is full',
  },
  'a Redis that lacks replicas': {
    extra: ['--min-replicas-to-write', '1'],
    says: 'Redis refuses to work: NOREPLICAS Not enough good replicas to write',
  },
  'a database that Redis does not have': {
    extra: [],
    path: '/99',
    says: 'this Redis has no database 99, which REDIS_URL names',
  },
  'a database that is no number': {
    extra: [],
    path: '/abc',
    says: 'REDIS_URL names a database that is no number',
  },
  'a user without its keys': {
    extra: '--user default on nopass resetkeys ~other:* &* +@all'.split(' '),
    says: 'the user of REDIS_URL may not use the keys ~{<cell>}:*',
  },
  'a user without INFO': {
    extra: '--user default on nopass ~* &* +@all -info'.split(' '),
    says: 'the user of REDIS_URL may not INFO, and has to: every process reads from it which server this is',
  },
  'a user without EVAL': {
    extra: '--user default on nopass ~* &* +@all -eval -evalsha'.split(' '),
    says: 'the user of REDIS_URL may not EVAL, and has to: every change is made by a script',
  },
  'a user without channels': {
    extra: '--user default on nopass ~* resetchannels +@all'.split(' '),
    says: 'the user of REDIS_URL may not SUBSCRIBE, and has to: processes tell one another of changes by the channels',
  },
};

/** Two scripts belong to the checks. */
function afterChecks(answer: () => string | undefined): NonNullable<FakeAnswers['answer']> {
  let scripts = 0;
  return (command) => {
    if (command !== 'eval') return undefined;
    return ++scripts <= 2 ? ':1' : answer();
  };
}

for (const role of ['api', 'worker'] as const) {
  for (const [what, { fake, says }] of Object.entries(UNFIT))
    test(`the ${role} refuses ${what} by name`, async (t) => {
      const redis = await startFakeRedis(fake);
      t.teardown(() => redis.die());
      const { ended, output } = await launch(t, role, { REDIS_URL: redis.url });
      t.is(await ended, 1);
      t.true(output().includes(`sluice ${role}: cannot start: ${says}`), output());
    });

  test(`the ${role} starts with a Redis that evicts any key when it is told to, and BullMQ says nothing`, async (t) => {
    const redis = await startTestRedis({
      folder: makeFolder(t),
      extra: ['--maxmemory-policy', 'allkeys-lru'],
    });
    t.teardown(() => redis.stop());
    const { url, output } = await launch(t, role, { REDIS_URL: redis.url, REDIS_EVICTION: 'allow' });
    await until('it listens', () =>
      fetch(`${url}/healthz`).then(
        () => true,
        () => false,
      ),
    );
    await until('the warning', () => /"reason":"eviction"/.test(output()));
    t.notRegex(output(), /IMPORTANT/);
  });

  test(`the ${role} says that Redis was lost during its start`, async (t) => {
    const redis = await startFakeRedis({
      info: infoOf('7.4.0'),
      answer: afterChecks(() => {
        redis.die();
        return undefined;
      }),
    });
    t.teardown(() => redis.die());
    const { ended, output } = await launch(t, role, { REDIS_URL: redis.url });
    t.is(await ended, 1);
    t.regex(output(), new RegExp(`sluice ${role}: cannot start: Redis was lost during the start`));
  });

  test(`the ${role} says in Redis’ words why Redis refuses to work during its start`, async (t) => {
    const redis = await startFakeRedis({
      info: infoOf('7.4.0'),
      answer: afterChecks(() => '-MISCONF Errors writing to the AOF file: No space left on device'),
    });
    t.teardown(() => redis.die());
    const { ended, output } = await launch(t, role, { REDIS_URL: redis.url });
    t.is(await ended, 1);
    t.regex(output(), /cannot start: Redis refuses to work: MISCONF Errors writing .* No space left/);
  });
}

// An api checks it by the same code.
for (const [what, { extra, path = '', says }] of Object.entries(REFUSED))
  test(`the worker refuses ${what} by name`, async (t) => {
    const port = await ownPort();
    const redis = await startTestRedis({
      folder: makeFolder(t),
      port,
      extra: typeof extra === 'function' ? extra(port) : extra,
    });
    t.teardown(() => redis.stop());
    const { ended, output } = await launch(t, 'worker', { REDIS_URL: `${redis.url}${path}` });
    t.is(await ended, 1);
    t.true(output().includes(`sluice worker: cannot start: ${says}`), output());
  });

let gateway: Gateway;
test.before(async () => {
  gateway = await startGateway({
    ownRedis: true,
    internals: {},
    redisExtra: ['--appendonly', 'no'],
    // A write beyond the limit of a file's size has to fail as on a full disk, and not to end the process.
    redisWrapper: ['sh', '-c', `trap '' XFSZ; exec "$0" "$@"`],
  });
});
test.after.always(() => gateway?.stop());

const warnings = async (process: { metricsUrl: string } | undefined) => {
  const response = await fetch(`${process?.metricsUrl}/readyz`, { headers: { connection: 'close' } });
  const { warnings = [] } = (await response.json()) as { warnings?: string[] };
  return { status: response.status, warnings: warnings.join(' ') };
};
const worry = async (reason: string) =>
  sumOf(await scrape({ metricsUrl: gateway.apis[0]?.metricsUrl ?? '' }), 'gateway_redis_worry', { reason });

test.serial('a Redis without an append-only file is told of wherever an operator looks', async (t) => {
  for (const process of [gateway.apis[0], gateway.workers[0]]) {
    const { status, warnings: told } = await warnings(process);
    t.is(status, 200, 'requests are answered all the same');
    t.regex(told, /Redis keeps no append-only file/);
  }
  t.is(await worry('no_append_only_file'), 1);
  t.is(await worry('eviction'), 0);
  const lines = () => gateway.output().match(/Redis keeps no append-only file/g)?.length;
  // A process writes its lines several at a time.
  await until('a line of each process', () => lines() === 2);
  const { out } = await sluiceOf(gateway)(['status']);
  t.regex(out, /^Redis keeps no append-only file: .* Set "appendonly yes"\.$/m);
});

test.serial('an eviction policy that is set later is told of, and so is its end', async (t) => {
  await gateway.redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  await until('the warning', async () => /allkeys-lru/.test((await warnings(gateway.apis[0])).warnings));
  t.is(await worry('eviction'), 1);
  await gateway.redis.config('SET', 'maxmemory-policy', 'noeviction');
  await gateway.redis.config('SET', 'appendonly', 'yes');
  await until('no warning', async () => (await warnings(gateway.apis[0])).warnings === '');
  await until('the line', () => /"reason":"eviction".*as it should be again/.test(gateway.output()));
  t.is(await worry('no_append_only_file'), 0);
});

test.serial('a Redis that becomes a replica, or lacks replicas, is told of, and so is its end', async (t) => {
  const { redis } = gateway;
  const problems = async () => {
    const response = await fetch(`${gateway.apis[0]?.metricsUrl}/readyz`, {
      headers: { connection: 'close' },
    });
    return `${response.status} ${await response.text()}`;
  };
  await redis.config('SET', 'min-replicas-to-write', '1');
  await until('NOREPLICAS', async () => /^503 .*\(NOREPLICAS\)/.test(await problems()));
  t.is(await worry('no_replicas'), 1);
  await until('the line', () => /"reason":"no_replicas".*NOREPLICAS/.test(gateway.output()));
  await redis.config('SET', 'min-replicas-to-write', '0');
  await until('ready', async () => /^200/.test(await problems()));
  await redis.call('REPLICAOF', '127.0.0.1', '1');
  await until('a replica', async () => /^503 .*read-only replica/.test(await problems()));
  await redis.call('REPLICAOF', 'NO', 'ONE');
  await until('ready again', async () => /^200/.test(await problems()));
});

test.serial(
  'a Redis with a full disk is told of wherever an operator looks, and so is its end',
  async (t) => {
    const { redis, redisServer, url } = gateway;
    const limitFiles = (bytes: string) =>
      execFileSync('prlimit', ['--pid', String(redisServer.pid), `--fsize=${bytes}:unlimited`]);
    const ready = async (listener = url) => {
      const response = await fetch(`${listener}/readyz`, { headers: { connection: 'close' } });
      return { status: response.status, text: await response.text() };
    };
    t.teardown(() => limitFiles('unlimited'));
    t.is((await ready()).status, 200);
    limitFiles('1');
    // Redis notices by a write that fails.
    await until('a refused write', () =>
      redis.set('full', '1').then(
        () => false,
        (error) => String(error).includes('MISCONF'),
      ),
    );
    const words = /Redis cannot write its append-only file, and refuses every change\. Is its disk full\?/;
    for (const listener of [url, gateway.apis[0]?.metricsUrl, gateway.workers[0]?.metricsUrl]) {
      const { status } = await until('not ready', async () => {
        const answer = await ready(listener);
        return words.test(answer.text) && answer;
      });
      t.is(status, 503);
    }
    t.is(await worry('disk'), 1);
    const { out } = await sluiceOf(gateway)(['status']);
    t.regex(out, words);
    limitFiles('unlimited');
    await until('ready', async () => (await ready()).status === 200);
    t.is(await worry('disk'), 0);

    // Nobody saves snapshots here, so a failed one is only told of.
    await redis.config('SET', 'appendonly', 'no');
    limitFiles('1');
    await redis.bgsave();
    await until('the warning', async () =>
      /Redis could not write its last snapshot/.test((await warnings(gateway.apis[0])).warnings),
    );
    limitFiles('unlimited');
    await until('a good snapshot', async () => {
      await redis.bgsave().catch(() => {});
      return !/snapshot/.test((await warnings(gateway.apis[0])).warnings);
    });
  },
);

test.serial('processes start while Redis is full, say so, and work as soon as there is room', async (t) => {
  const limits = { requests_per_minute: 100 };
  const full = await startGateway({ ownRedis: true, workspaces: { limited: { limits } } });
  t.teardown(() => full.stop());
  const { redis, names } = full;
  await redis.config('SET', 'maxmemory', '1mb');
  // Even the registry has no room.
  await redis.del(names.registry, names.registryRevision);
  const worker = await full.addWorker();
  const api = await full.addApi();
  for (const { metricsUrl } of [worker, api]) {
    const response = await fetch(`${metricsUrl}/readyz`, { headers: { connection: 'close' } });
    t.is(response.status, 503);
    const { problems } = (await response.json()) as { problems: string[] };
    t.true(problems.includes(FULL), problems.join());
  }
  const { out } = await sluiceOf(full)(['status']);
  t.true(out.split('\n').includes(FULL), out);
  t.is(out.match(/^(api|worker) /gm)?.length, 4, out);

  const init = { url: api.url };
  const ask = (more = {}) =>
    full.chat(
      { model: 'fast', messages: [{ role: 'user', content: 'Is there room?' }] },
      { ...init, ...more },
    );
  for (const key of [full.key, full.keys.limited ?? '']) {
    const { status, headers, body } = await ask({ key });
    t.is(status, 503);
    t.true(Number(headers.get('retry-after')) > 0);
    t.like(body.error, { code: 'service_unavailable', message: 'The gateway’s queue is full.' });
  }
  t.is(
    (await fetch(`${api.url}/v1/models`, { headers: { authorization: `Bearer ${full.key}` } })).status,
    200,
  );

  for (const before of [full.workers[0], full.apis[0]]) await before?.end();
  await redis.config('SET', 'maxmemory', '0');
  await until('it is served', async () => (await ask()).status === 200);
  await until('the registry', () => redis.exists(names.registryRevision).then((count) => count === 1));
  const told = full.output().match(/"reason":"full","msg":"Redis is full/g) ?? [];
  t.true(told.length >= 2, 'a line of each process that started');
});

test.serial('a Redis that is lost and comes back is logged by each process', async (t) => {
  const port = Number(new URL(gateway.redisServer.url).port);
  // Whoever was stopped for seconds may have lost it before.
  const since = gateway.output().length;
  const printed = () => gateway.output().slice(since);
  await gateway.redisServer.stop('SIGKILL');
  await until('the loss', () => printed().match(/Redis is lost/g)?.length === 2);
  await gateway.restartRedis(port);
  await until('the return', () => printed().match(/Redis is back/g)?.length === 2);
  t.notRegex(printed(), /Redis is back(?:.|\n)*Redis is lost/, 'once each');
});
