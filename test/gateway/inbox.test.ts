/**
 * The reply inbox: how long it leaves in Redis what was read, and what it does when Redis is replaced by a replica: one that
 * lost the newest entries, and whose clock is behind.
 */
import { Inbox } from '@sluice/api/cell/inbox';
import { connectToRead } from '@sluice/shared/redis/redis';
import type { ExecutionContext } from 'ava';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

let gateway: Gateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.stop());

const FUTURE_MS = 60_000;

/** Reads an inbox of its own. `sent` has every command of its connection. */
async function startReading(t: ExecutionContext, id: string) {
  const { redis, names, redisServer } = gateway;
  const key = names.inbox(id);
  const reader = connectToRead(redisServer.url);
  const connection = await reader.client('ID');
  const sent: string[][] = [];
  const send = reader.sendCommand.bind(reader);
  reader.sendCommand = (command, stream) => {
    // In Redis' protocol each word has a line before it, with its length.
    const lines = String(command.toWritable(reader)).split('\r\n');
    sent.push(lines.filter((_, i) => i > 0 && i % 2 === 0));
    return send(command, stream);
  };
  const inbox = new Inbox(id, names);
  const seen: string[] = [];
  const reading = inbox.read(reader, (message) => seen.push(message.requestId));
  t.teardown(async () => {
    await inbox.close(redis);
    reader.disconnect();
    await reading;
  });
  const add = (id: string, entryId = '*', models = 'null') =>
    redis.xadd(key, entryId, 'id', id, 'models', models);
  const isEmpty = async () => (await redis.xlen(key)) === 0;
  return { redis, key, connection, inbox, seen, sent, add, isEmpty };
}

/** From which id each read was asked to go on. */
function readsOf(sent: readonly string[][]): (string | undefined)[] {
  return sent.flatMap((command) => (command[0] === 'xread' ? [command.at(-1)] : []));
}

test.serial('replies are read whatever their ids are, and are gone from Redis then', async (t) => {
  const { redis, key, inbox, seen, sent, add, isEmpty } = await startReading(t, 'any-ids');
  await add('before', '5000-0');
  await until('the first reply', () => seen.length === 1);
  await redis.del(key);
  await add('after', '1000-0');
  await until('the second reply', () => seen.length === 2);
  t.deepEqual(seen, ['before', 'after']);
  await until('both to be gone', isEmpty);
  t.true(inbox.caughtUpAt > 0);
  for (const [name, , , , blockMs, , , after] of sent) {
    if (name !== 'xread' || after === '0-0') continue;
    t.true(Number(blockMs) >= 1 && Number(blockMs) <= 1_000, 'when no more comes, what was read is deleted');
  }
});

test.serial('a reply that was read is deleted although more come all the time', async (t) => {
  const { redis, key, add } = await startReading(t, 'trickle');
  const first = (await add('first')) ?? '';
  let added = 1;
  await until('the first to be gone', async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    await add(String(added++));
    return (await redis.xrange(key, first, first)).length === 0;
  });
  t.true(added < 64, 'so many would be deleted for their number');
});

test.serial('many replies are deleted together, and no more than a batch lies', async (t) => {
  const { redis, key, seen, sent, isEmpty } = await startReading(t, 'many');
  // Batches of 2, 4, 8 and so on. The last one is of 128.
  const batches = 7;
  const adding = redis.multi();
  for (let i = 1; i < 2 ** (batches + 1) - 1; i++)
    adding.xadd(key, `${i}-0`, 'id', String(i), 'models', 'null');
  await adding.exec();
  await until('all of them', () => seen.length === 254);
  await until('all to be gone', isEmpty);
  t.is(new Set(seen).size, 254);
  t.true(sent.filter(([name]) => name === 'xdel').length < batches);
  t.true(readsOf(sent).some((after) => after !== '0-0'));
  t.false(readsOf(sent).includes('254-0'), 'so many are deleted before more are read');
});

test.serial('a large reply is deleted before more is read', async (t) => {
  const { sent, seen, add, isEmpty } = await startReading(t, 'large');
  await add('large', '*', JSON.stringify([{ id: 'm'.repeat(300_000), created: 0 }]));
  await until('the reply', () => seen.length === 1);
  await until('it to be gone', isEmpty);
  t.deepEqual([...new Set(readsOf(sent))], ['0-0']);
});

test.serial('a connection that is lost before what was read is deleted loses no reply', async (t) => {
  const { redis, connection, seen, sent, add, isEmpty } = await startReading(t, 'reconnect');
  await add('first');
  await until('the first reply', () => seen.length === 1);
  const before = readsOf(sent).length;
  await redis.client('KILL', 'ID', connection);
  await add('second');
  await until('the second reply', () => seen.includes('second'));
  t.is(readsOf(sent)[before], '0-0', 'what may be another Redis is read from the beginning');
  await until('both to be gone', isEmpty);
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
