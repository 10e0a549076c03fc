/**
 * `npm run mutants`: shows that tests can fail. Each mutant is a change to the product that one file of tests must notice.
 * It is made in a copy of the build, and the file of tests runs there. A mutant that nobody notices is a failure.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { REPOSITORY } from '../helpers/all-in-one.js';
import { SHARED_REDIS, startSharedRedis } from '../helpers/test-redis.js';
import { withParent } from '../helpers/with-parent.js';
import { builtFile, MUTANTS, type Mutant, mutate } from './mutants.js';

const HELP = `Usage: npm run mutants [-- options]

Changes the product in one place at a time, and checks that the tests notice.

Options:
  --only <names>  only the mutants for these files of tests, separated by commas
  --jobs <n>      how many run at a time (default: 2)
  --help`;

/** A changed product may let a test wait for ever. That is noticed, too. */
const HANGS_AFTER = '60s';
const COPIED = [
  'packages',
  'test',
  'bench',
  'prices',
  'release',
  'node_modules',
  'package.json',
  'ava.config.js',
];

const { values } = parseArgs({
  options: { only: { type: 'string' }, jobs: { type: 'string', default: '2' }, help: { type: 'boolean' } },
});
if (values.help) {
  process.stdout.write(`${HELP}\n`);
} else {
  const only = values.only?.split(',');
  const chosen = MUTANTS.filter(({ test }) => only === undefined || only.includes(test));
  process.exitCode = await tryAll(chosen, Number(values.jobs));
}

async function tryAll(mutants: readonly Mutant[], jobs: number): Promise<number> {
  const folder = join(REPOSITORY, 'build', 'mutants');
  rmSync(folder, { recursive: true, force: true });
  const redis = await startSharedRedis();
  const left = [...mutants];
  const survived: Mutant[] = [];
  const work = async (_: unknown, job: number) => {
    const copy = join(folder, String(job));
    copyRepository(copy);
    for (let mutant = left.shift(); mutant; mutant = left.shift()) {
      const noticed = await isNoticed(mutant, copy, redis.url);
      if (!noticed) survived.push(mutant);
      process.stdout.write(`${noticed ? 'noticed' : 'SURVIVED'}  ${mutant.test}: ${mutant.file}\n`);
    }
  };
  try {
    await Promise.all(Array.from({ length: jobs }, work));
  } finally {
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`${mutants.length - survived.length} of ${mutants.length} mutants were noticed\n`);
  return survived.length === 0 && mutants.length > 0 ? 0 : 1;
}

/** By links, because the copy is large. So a file of the copy is replaced, and never written to. */
function copyRepository(copy: string): void {
  mkdirSync(copy, { recursive: true });
  execFileSync('cp', ['-al', ...COPIED.map((name) => join(REPOSITORY, name)), copy]);
}

async function isNoticed(mutant: Mutant, copy: string, redisUrl: string): Promise<boolean> {
  const file = join(copy, builtFile(mutant));
  const original = readFileSync(file, 'utf8');
  replace(file, mutate(mutant, original));
  try {
    const [program = '', ...args] = [...withParent(), process.execPath, 'node_modules/.bin/ava'];
    const child = spawn(program, [...args, '--timeout', HANGS_AFTER, `test/dist/${mutant.test}.test.js`], {
      cwd: copy,
      env: { ...process.env, [SHARED_REDIS]: redisUrl },
      stdio: 'ignore',
    });
    const [code] = await once(child, 'close');
    return code !== 0;
  } finally {
    replace(file, original);
  }
}

function replace(file: string, text: string): void {
  rmSync(file);
  writeFileSync(file, text);
}
