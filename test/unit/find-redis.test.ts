import { findOrInstallRedis } from '@sluice/cli/start/find-redis';
import type { Machine } from '@sluice/cli/start/machine';
import test from 'ava';
import testWithRedis from '../helpers/needs-redis.js';

const LOCKED = 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 41 (apt-get)\n';

interface MachineOptions {
  isRoot?: boolean;
  /** Whether an installation brings Redis, by what was done before. */
  brings?: (calls: string[]) => boolean;
  /** How many runs of apt-get find a lock held. */
  lockedFor?: number;
}

function machineWith(programs: string[], options: MachineOptions = {}) {
  const installed = new Set(programs);
  const calls: string[] = [];
  let runs = 0;
  const machine: Machine = {
    find: (program) => (installed.has(program) ? `/bin/${program}` : undefined),
    isRoot: options.isRoot ?? true,
    run: (_program, [option, value, ...args]) => {
      if (option !== '-o' || !value?.startsWith('DPkg::Lock::Timeout='))
        throw new Error('no time for the lock');
      if (runs++ < (options.lockedFor ?? 0)) return { ok: false, stderr: LOCKED };
      calls.push(args.includes('--reinstall') ? 'reinstall' : String(args[0]));
      if (options.brings?.(calls)) installed.add('redis-server');
      return { ok: args[0] === 'update' || installed.has('redis-server'), stderr: 'E: no such package\n' };
    },
    wait: () => {
      calls.push('wait');
    },
  };
  return { machine, calls };
}

const find = (machine: Machine, said: string[] = []) =>
  findOrInstallRedis((line) => said.push(line), machine);

test('a redis-server that is there is used, and nothing is installed', (t) => {
  const { machine, calls } = machineWith(['valkey-server', 'redis-server', 'apt-get']);
  t.is(find(machine), '/bin/redis-server');
  t.deepEqual(calls, []);
});

test('a valkey-server will do', (t) => {
  t.is(find(machineWith(['valkey-server']).machine), '/bin/valkey-server');
});

test('on Debian, root gets it installed and is told so', (t) => {
  const { machine, calls } = machineWith(['apt-get'], { brings: () => true });
  const said: string[] = [];
  t.is(find(machine, said), '/bin/redis-server');
  t.deepEqual(calls, ['install']);
  t.regex(said.join(), /Redis: not on this machine; installing \(apt-get install .*redis-server/);
});

test('a lock that another installation holds is waited for', (t) => {
  const { machine, calls } = machineWith(['apt-get'], { brings: () => true, lockedFor: 2 });
  const said: string[] = [];
  t.is(find(machine, said), '/bin/redis-server');
  t.deepEqual(calls, ['wait', 'wait', 'install']);
  t.is(said.filter((line) => line.includes('Another program is installing')).length, 1);
});

test('a lock that is held without end is told with its holder', (t) => {
  const { machine } = machineWith(['apt-get'], { lockedFor: Number.POSITIVE_INFINITY });
  t.throws(() => find(machine), { message: /failed:\nE: Could not get lock .* process 41/ });
});

test('package lists are fetched when the package is not known', (t) => {
  const { machine, calls } = machineWith(['apt-get'], { brings: (made) => made.length === 3 });
  t.is(find(machine), '/bin/redis-server');
  t.deepEqual(calls, ['install', 'update', 'install']);
});

test('an installation that fails is told with its reason', (t) => {
  t.throws(() => find(machineWith(['apt-get']).machine), { message: /failed:\nE: no such package$/ });
});

test('on Debian, anybody else is told the command', (t) => {
  const { machine, calls } = machineWith(['apt-get', 'sudo'], { isRoot: false });
  t.throws(() => find(machine), {
    message: /run "sudo apt-get install .*redis-server redis-tools", or set REDIS_URL/,
  });
  t.deepEqual(calls, []);
  t.throws(() => find(machineWith(['apt-get'], { isRoot: false }).machine), {
    message: /as root, run "apt-get install .*redis-server redis-tools", or set REDIS_URL/,
  });
});

test('without root and apt the message is one line that works on this machine', (t) => {
  const { message: container } =
    t.throws(() => find(machineWith(['podman'], { isRoot: false }).machine)) ?? {};
  t.regex(
    container ?? '',
    /run "podman run .*valkey:8 .*--appendonly yes" and start again with REDIS_URL=redis:/,
  );
  const { machine } = machineWith(['make', 'cc', 'curl'], { isRoot: false });
  const { message = '' } = t.throws(() => find(machine)) ?? {};
  t.regex(message, /no redis-server and no valkey-server found: build it .*REDIS_SERVER=/);
  t.false(message.includes('\n'));
});

test('elsewhere the message says what to install', (t) => {
  t.throws(() => find(machineWith([]).machine), { message: /install Redis 7 or Valkey.*, or set REDIS_URL/ });
});

testWithRedis('this machine has a Redis', (t) => {
  t.regex(
    findOrInstallRedis(() => {}),
    /(redis|valkey)-server$/,
  );
});
