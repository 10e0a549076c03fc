/**
 * A process that writes the log's files and kills itself at a chosen step, for tests. The steps are counted from 1: before a
 * file, after each piece of its lines, after its last line, and when it is there but nobody knows yet.
 */
import { keyNames } from '@sluice/shared/redis/key-names';
import { connectPatiently } from '@sluice/shared/redis/redis';
import { makeRequestId } from '@sluice/shared/request-id';
import { openFileStore } from '@sluice/worker/archive/file-store';
import { LogFiles } from '@sluice/worker/archive/log-files';

export interface WriterOptions {
  redisUrl: string;
  cell: string;
  place: string;
  endpoint?: string;
  maxEntries: number;
  now: number;
  /** 0: it lives. */
  diesAt: number;
}

const options = JSON.parse(process.argv[2] ?? '') as WriterOptions;
const { redisUrl, cell, place, endpoint, maxEntries, now, diesAt } = options;
let steps = 0;
const step = () => {
  steps++;
  if (steps === diesAt) process.kill(process.pid, 'SIGKILL');
};

async function* inSteps(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const some of lines) {
    yield some;
    step();
  }
  step();
}

const store = await openFileStore(place, endpoint);
const redis = connectPatiently(redisUrl);
const files = new LogFiles({
  redis,
  names: keyNames(cell),
  clock: { now: () => now },
  worker: makeRequestId(),
  shard: 0,
  store: {
    async write(name, lines, gzip) {
      step();
      await store.write(name, inSteps(lines), gzip);
      step();
    },
    close: () => store.close(),
  },
  maxEntries,
});
await files.work();
redis.disconnect();
store.close();
