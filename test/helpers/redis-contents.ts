import { once } from 'node:events';
import { connect } from 'node:net';
import type { Redis } from 'ioredis';

/** Every command that reaches a Redis, those inside scripts included. By hand: ioredis' monitor fails on a busy one. */
export async function watchCommands(url: string): Promise<{ seen(): string[]; stop(): void }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.write('MONITOR\r\n');
  await once(socket, 'data');
  return { seen: () => text.split('\r\n'), stop: () => socket.destroy() };
}

/** For how many seconds each BZPOPMIN among these commands waits for a key that is meant. */
export function blockingSeconds(commands: readonly string[], isMeant: (key: string) => boolean): number[] {
  return commands.flatMap((line) => {
    const words = [...(/"bzpopmin" (.*)$/i.exec(line)?.[1]?.matchAll(/"([^"]+)"/g) ?? [])].map(
      ([, word = '']) => word,
    );
    const seconds = Number(words.pop());
    return words.some(isMeant) ? [seconds] : [];
  });
}

/** Everything that a Redis holds, as text: the names of its keys, and what each type's own command reads. */
export async function readEverything(redis: Redis, pattern = '*'): Promise<string> {
  const texts: string[] = [];
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', 1000);
    cursor = next;
    for (const key of keys) texts.push(key, JSON.stringify(await readKey(redis, key)));
  } while (cursor !== '0');
  return texts.join('\n');
}

/** Everything as Redis would save it, deleted entries that still take up room included. */
export async function dumpEverything(redis: Redis): Promise<string> {
  // Compressed, a text could not be found in it.
  await redis.config('SET', 'rdbcompression', 'no');
  const texts: string[] = [];
  for (const key of await redis.keys('*')) {
    const dump = await redis.dumpBuffer(key);
    texts.push(key, dump?.toString('latin1') ?? '');
  }
  return texts.join('\n');
}

async function readKey(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'string':
      return redis.get(key);
    case 'hash':
      return redis.hgetall(key);
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'set':
      return redis.smembers(key);
    case 'zset':
      return redis.zrange(key, '0', '-1');
    case 'stream':
      return redis.xrange(key, '-', '+');
    default:
      return null;
  }
}
