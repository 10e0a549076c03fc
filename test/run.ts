/**
 * Runs the tests: `node test/dist/run.js first` is a part of `npm test`, `rest` is `npm run test:all`, and `cluster` is
 * `npm run test:cluster`. It starts the Redis that the tests share, and runs AVA on the files of the suite. Further arguments
 * go to AVA.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { REDIS } from '@sluice/cli/start/find-redis';
import { findTool } from '@sluice/cli/start/tools';
import { REPOSITORY } from './helpers/all-in-one.js';
import { startCluster } from './helpers/cluster.js';
import { SHARED_REDIS, startSharedRedis } from './helpers/test-redis.js';
import { spawnWithParent } from './helpers/with-parent.js';
import { demandFiles, filesOf, SLOWEST, SUITES, type Suite, UNSTEADY } from './suites.js';

const AT_A_TIME = '6';
/** AVA notices a test that hangs, and not a test file that does not end. */
const SILENCE_MS = 20 * 60_000;

const [suite, ...more] = process.argv.slice(2);
if (!isSuite(suite)) throw new Error(`usage: node test/dist/run.js ${SUITES.join('|')} [options of AVA]`);
const say = (line: string) => process.stdout.write(`${line}\n`);
process.exitCode = await run(suite, more);

function isSuite(name: string | undefined): name is Suite {
  return SUITES.some((suite) => suite === name);
}

async function run(suite: Suite, more: readonly string[]): Promise<number> {
  const redis = findTool(REDIS) ? await startRedisFor(suite) : undefined;
  try {
    demandFiles([...SLOWEST, ...UNSTEADY]);
    const files = filesOf(suite);
    say(`Running ${files.length} files of tests, ${AT_A_TIME} at a time.`);
    return await runAva(['--concurrency', AT_A_TIME, ...more, ...files], redis?.url);
  } finally {
    await redis?.stop();
  }
}

function startRedisFor(suite: Suite): Promise<{ url: string; stop(): Promise<void> }> {
  return suite === 'cluster' ? startCluster() : startSharedRedis();
}

async function runAva(args: readonly string[], redisUrl: string | undefined): Promise<number> {
  const ava = join(REPOSITORY, 'node_modules/.bin/ava');
  const color = process.stdout.isTTY ? ['--color'] : [];
  const child = spawnWithParent([process.execPath, ava, ...color, ...args], {
    cwd: REPOSITORY,
    env: { ...process.env, ...(redisUrl ? { [SHARED_REDIS]: redisUrl } : {}) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const silent = setTimeout(() => {
    say(`Nothing has happened for ${SILENCE_MS / 60_000} minutes: the tests are stopped.`);
    child.kill('SIGKILL');
  }, SILENCE_MS);
  child.stdout?.on('data', (chunk: Buffer) => {
    silent.refresh();
    process.stdout.write(chunk);
  });
  const [code] = await once(child, 'close');
  clearTimeout(silent);
  return code ?? 1;
}
