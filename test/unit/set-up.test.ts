import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Machine } from '@sluice/cli/start/machine';
import test, { type TestFn } from 'ava';
import { setUp } from '../helpers/set-up.js';
import { skipAll } from '../helpers/test-needing.js';

/** By the package that brings it. */
const PROGRAMS = {
  'redis-server': 'redis-server',
  'chromium-headless-shell': 'chromium-headless-shell',
  prometheus: 'prometheus',
  postgresql: 'postgres',
};
const ALL = Object.values(PROGRAMS);

function machineWith(programs: string[], options: { isRoot?: boolean; broken?: boolean } = {}) {
  const installed = new Set(programs);
  const runs: string[] = [];
  const machine: Machine = {
    find: (program) => (installed.has(program) ? `/bin/${program}` : undefined),
    isRoot: options.isRoot ?? true,
    run: (_program, args) => {
      runs.push(args.join(' '));
      if (options.broken) return { ok: false, stderr: 'E: no network' };
      for (const [name, program] of Object.entries(PROGRAMS)) if (args.includes(name)) installed.add(program);
      return { ok: true, stderr: '' };
    },
    wait: () => {},
  };
  return { machine, runs };
}

function run(machine: Machine, env: NodeJS.ProcessEnv = {}) {
  const said: string[] = [];
  const ok = setUp((line) => said.push(line), machine, env);
  return { ok, said: said.join('\n') };
}

test('a machine that has everything is left alone, without a word', (t) => {
  const { machine, runs } = machineWith([...ALL, 'apt-get']);
  t.deepEqual(run(machine), { ok: true, said: '' });
  t.deepEqual(runs, []);
});

test('all that is missing is installed by one command, which is told', (t) => {
  const { machine, runs } = machineWith(['apt-get', 'prometheus']);
  const { ok, said } = run(machine, { CI: 'true' });
  t.true(ok);
  t.is(runs.length, 1);
  t.regex(
    runs[0] ?? '',
    /install -y --no-install-recommends redis-server redis-tools chromium-headless-shell postgresql$/,
  );
  t.regex(said, /^Redis, Chromium, PostgreSQL: not on this machine; installing \(apt-get .*\nInstalled\.$/);
});

test('somebody who is not root is told how to get what is missing, and the tests go on', (t) => {
  const { machine, runs } = machineWith(['apt-get', 'sudo', 'redis-server'], { isRoot: false });
  const { ok, said } = run(machine);
  t.true(ok);
  t.deepEqual(runs, []);
  t.regex(
    said,
    /^Not on this machine: Chromium, Prometheus, PostgreSQL\. Tests that need them are skipped\./,
  );
  t.regex(
    said,
    /run "sudo apt-get install -y --no-install-recommends chromium-headless-shell prometheus postgresql"/,
  );
});

test('an installation that fails is told, and the tests go on without', (t) => {
  const { ok, said } = run(machineWith(['apt-get'], { broken: true }).machine);
  t.true(ok);
  t.regex(said, /failed:\nE: no network\nNot on this machine: Redis, Chromium, Prometheus/);
});

test('in CI, what is missing and cannot be installed is a failure', (t) => {
  for (const [machine, CI] of [
    [machineWith([]).machine, '1'],
    [machineWith(['apt-get'], { broken: true }).machine, 'true'],
  ] as const) {
    const { ok, said } = run(machine, { CI });
    t.false(ok);
    t.regex(said, /CI must have them/);
  }
  t.true(run(machineWith([]).machine, { CI: 'false' }).ok);
});

test('a test that cannot run is skipped by its name, with the reason', (t) => {
  const declared: string[] = [];
  const record = (kind: string) => (title: string) => declared.push(`${kind}: ${title}`);
  const serial = Object.assign(record('serial'), { skip: record('serial.skip') });
  const fake = Object.assign(record('test'), { skip: record('skip'), before: record('before'), serial });
  const skipping = skipAll(fake as unknown as TestFn, 'needs Redis');
  skipping('one', () => {});
  skipping.serial('two', () => {});
  t.deepEqual(declared, ['skip: one (needs Redis)', 'serial.skip: two (needs Redis)']);
});

test('the step before the tests runs by itself, and has nothing left to do', (t) => {
  const script = fileURLToPath(new URL('../setup.js', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  t.is(status, 0, stdout + stderr);
  t.is(stderr, '');
  t.notRegex(stdout, /installing/);
});
