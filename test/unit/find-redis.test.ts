import { findOrInstallRedis, type Machine } from '@sluice/cli/start/find-redis';
import test from 'ava';

/** A machine with these programs; `apt-get install` brings what `brings` says, on the attempts it says. */
function machineWith(
  programs: string[],
  options: { isRoot?: boolean; brings?: (calls: string[]) => boolean } = {},
) {
  const installed = new Set(programs);
  const calls: string[] = [];
  const machine: Machine = {
    find: (program) => (installed.has(program) ? `/bin/${program}` : undefined),
    isRoot: options.isRoot ?? true,
    run: (_program, args) => {
      calls.push(args[0] === 'install' && args.includes('--reinstall') ? 'reinstall' : String(args[0]));
      if (options.brings?.(calls)) installed.add('redis-server');
      return { ok: args[0] === 'update' || installed.has('redis-server'), stderr: 'E: no such package\n' };
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
  t.regex(said.join(), /installing it \(apt-get install .*redis-server\)/);
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
  const { machine, calls } = machineWith(['apt-get'], { isRoot: false });
  t.throws(() => find(machine), { message: /run "sudo apt-get install .*redis-server", or set REDIS_URL/ });
  t.deepEqual(calls, []);
});

test('elsewhere the message says what to install', (t) => {
  t.throws(() => find(machineWith([]).machine), { message: /install Redis 7 or Valkey.*, or set REDIS_URL/ });
});

test('this machine has a Redis', (t) => {
  t.regex(
    findOrInstallRedis(() => {}),
    /(redis|valkey)-server$/,
  );
});
