/** The reply inbox when Redis is replaced by a replica: one that lost the newest entries, and whose clock is behind. */
import { Inbox } from '@sluice/api/cell/inbox';
import { connectToRead } from '@sluice/shared/redis/redis';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

let gateway: Gateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.stop());

const FUTURE_MS = 60_000;

test.serial('replies are read whatever their ids are, and are gone from Redis then', async (t) => {
  const { redis, names } = gateway;
  const key = names.inbox('reader');
  const reader = connectToRead(gateway.redisServer.url);
  const inbox = new Inbox('reader', names);
  const seen: string[] = [];
  const reading = inbox.read(reader, (message) => seen.push(message.requestId));
  t.teardown(async () => {
    await inbox.close(redis);
    reader.disconnect();
    await reading;
  });
  await redis.xadd(key, '5000-0', 'id', 'before', 'models', 'null');
  await until('the first reply', () => seen.length === 1);
  await redis.del(key);
  await redis.xadd(key, '1000-0', 'id', 'after', 'models', 'null');
  await until('the second reply', () => seen.length === 2);
  t.deepEqual(seen, ['before', 'after']);
  await until('both to be gone', async () => (await redis.xlen(key)) === 0);
  t.true(inbox.caughtUpAt > 0);
});

test.serial(
  'after a failover to a Redis whose clock is behind, requests are answered, and billed once',
  async (t) => {
    const { redis, names } = gateway;
    // It is there when the api has got its first message, which is a list of models.
    const key = await until('an inbox', async () => (await redis.keys(names.inbox('*')))[0]);
    const [seconds] = (await redis.time()) as unknown as [string];
    await redis.xadd(key, `${Number(seconds) * 1000 + FUTURE_MS}-0`, 'id', 'of nobody');
    await until('it to be read', async () => (await redis.xlen(key)) === 0);
    // The replica has not got this stream.
    await redis.del(key);
    const messages = [{ role: 'user', content: 'Hello.' }];
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => gateway.chat({ model: 'openai/gpt-4o-mini', messages })),
    );
    t.true(answers.every(({ status }) => status === 200));
    t.is(gateway.simulator.calls.length, 8);
    t.is((await gateway.log()).length, 8);
  },
);
