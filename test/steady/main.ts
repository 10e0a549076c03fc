/**
 * `npm run steady`: are the tests steady on a busy machine? It runs files of tests again and again, beside processes that only
 * compute, and stops random processes of theirs for some seconds. One red run is a failure, and its output is kept.
 */
import { once } from 'node:events';
import { createWriteStream, mkdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { REPOSITORY } from '../helpers/all-in-one.js';
import { SHARED_REDIS, startSharedRedis } from '../helpers/test-redis.js';
import { spawnWithParent } from '../helpers/with-parent.js';
import { demandFiles, filesOf, nameOf, SLOWEST, UNSTEADY } from '../suites.js';
import { stopAtRandom } from './stop-at-random.js';

const HELP = `Usage: npm run steady [-- options]

Runs tests on a machine that is kept busy, and stops random processes of theirs.

Options:
  --rounds <n>     how often each file runs (default: 20)
  --only <names>   these files or rooms, separated by commas (default: the slowest, and those that were red before)
  --suite <name>   a whole suite instead: first (npm test) or rest (npm run test:all)
  --busy <n>       processes that only compute (default: 4)
  --at-a-time <n>  files that run at a time (default: 8)
  --no-stops       stop no process
  --help`;

const COMPUTE = 'for (;;) {}';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    only: { type: 'string' },
    suite: { type: 'string' },
    busy: { type: 'string', default: '4' },
    'at-a-time': { type: 'string', default: '8' },
    'no-stops': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(`${HELP}\n`);
else process.exitCode = await main();

async function main(): Promise<number> {
  const files = chosenFiles();
  const rounds = Number(values.rounds);
  const folder = join(REPOSITORY, 'build', 'steady');
  mkdirSync(folder, { recursive: true });
  const redis = await startSharedRedis();
  const busy = Array.from({ length: Number(values.busy) }, () =>
    spawnWithParent([process.execPath, '--eval', COMPUTE], { stdio: 'ignore' }),
  );
  let red = 0;
  try {
    for (let round = 1; round <= rounds; round++) {
      const log = join(folder, `${round}.log`);
      const startedAt = Date.now();
      const { isGreen, passed, stops } = await run(files, redis.url, log);
      if (!isGreen) red++;
      const seconds = Math.round((Date.now() - startedAt) / 1000);
      const load = loadavg()[0]?.toFixed(1);
      say(
        `[${round}/${rounds}] ${isGreen ? 'green' : `RED, see ${log}`}: ${passed}, ${files.length} files, ${seconds} s, load ${load}, ${stops} stops`,
      );
    }
  } finally {
    for (const child of busy) child.kill('SIGKILL');
    await redis.stop();
  }
  say(`${rounds - red} passed, ${red} failed`);
  return red === 0 && rounds > 0 ? 0 : 1;
}

function chosenFiles(): string[] {
  const { suite } = values;
  if (suite === 'first' || suite === 'rest') return filesOf(suite);
  if (suite !== undefined) throw new Error('--suite is first or rest');
  const names = values.only?.split(',') ?? [...SLOWEST, ...UNSTEADY];
  const files = [...filesOf('first'), ...filesOf('rest')];
  demandFiles(names);
  return files.filter((file) => names.includes(nameOf(file)));
}

async function run(files: readonly string[], redisUrl: string, log: string) {
  const ava = join(REPOSITORY, 'node_modules/.bin/ava');
  const child = spawnWithParent(
    [process.execPath, ava, '--concurrency', String(values['at-a-time']), ...files],
    {
      cwd: REPOSITORY,
      env: { ...process.env, [SHARED_REDIS]: redisUrl },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const output = createWriteStream(log);
  let passed = 'no test passed';
  child.stdout?.on('data', (chunk: Buffer) => {
    passed = /\d+ tests? passed/.exec(String(chunk))?.[0] ?? passed;
    output.write(chunk);
  });
  child.stderr?.pipe(output, { end: false });
  const stopping = values['no-stops'] ? undefined : stopAtRandom(child.pid ?? 0);
  const [code] = await once(child, 'close');
  const stops = stopping?.end() ?? 0;
  output.end();
  return { isGreen: code === 0, passed, stops };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
