import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { CommandTimeout, isRedisAway } from '@sluice/shared/redis/away';
import { connectPatiently, waitForRedis } from '@sluice/shared/redis/redis';
import test from 'ava';

test('a command that Redis did not answer in time means that Redis is away, whatever its text', (t) => {
  t.true(isRedisAway(new CommandTimeout(1_500)));
  t.false(isRedisAway(new Error('Command timed out')), 'the text alone means nothing');
});

test('a Redis that closes connections with a refusal is quoted when the wait for it is over', async (t) => {
  // As Redis does in protected mode, on a machine that others reach.
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end(
      '-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the ' +
        'default user. In this mode connections are only accepted from the loopback interface. If you want to…\r\n',
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  const redis = connectPatiently(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.teardown(() => redis.disconnect());
  // Longer than the machine may stop.
  await t.throwsAsync(waitForRedis(redis, 10_000), {
    message:
      'Redis refuses the connection: DENIED Redis is running in protected mode because protected mode is enabled and ' +
      'no password is set for the default user.',
  });
});
