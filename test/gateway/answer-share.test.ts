/** A job keeps its share of the memory for large answers until Redis has taken its answer. */
import type { ChatJob } from '@sluice/shared/queue/job';
import { CHAT_JOB } from '@sluice/shared/queue/job';
import type { Settlement } from '@sluice/shared/queue/settle';
import { AnswerRoom } from '@sluice/worker/calls/answer-room';
import { ChatWorker, type TakenJob } from '@sluice/worker/jobs/chat-worker';
import type { ExecutionContext } from 'ava';
import test from '../helpers/needs-redis.js';
import { type Cell, createSettleBench, jobFor, type SettleBench, served } from '../helpers/settle-bench.js';
import { until } from '../helpers/until.js';

const ROOM = 1_000;

let bench: SettleBench;
test.before(async () => {
  bench = await createSettleBench({ ownRedis: true });
});
test.after.always(() => bench?.close());

/** A worker that runs one job, which takes the whole room. */
async function runOne(
  t: ExecutionContext,
  room: AnswerRoom,
  run: (job: ChatJob, cell: Cell, taken: TakenJob) => Promise<Settlement | undefined>,
): Promise<Cell> {
  const cell = await bench.cell();
  // BullMQ makes connections of its own from this one, and closes them.
  const redis = bench.redis.duplicate();
  redis.on('error', () => {});
  const worker = new ChatWorker({
    names: cell.names,
    keptAnswerBytes: 1_000_000,
    provider: 'openai',
    concurrency: 1,
    redis,
    answers: room,
    async run(taken) {
      t.is(taken.name, CHAT_JOB);
      t.true(taken.answer.take(ROOM, () => {}));
      return run({ ...(taken.data as ChatJob), request: taken.request }, cell, taken);
    },
    onLost: () => {},
    onError: () => {},
  });
  t.teardown(async () => {
    await worker.close(true);
    redis.disconnect();
  });
  await cell.queue.addChat(jobFor('one'));
  worker.run().catch(() => {});
  return cell;
}

/** Whether somebody else has got the whole room. */
function watch(room: AnswerRoom): () => boolean {
  let isFree = false;
  isFree = room.share().take(ROOM, () => {
    isFree = true;
  });
  return () => isFree;
}

test.serial('the share is held while Redis does not take the answer, and free when it has', async (t) => {
  const room = new AnswerRoom(ROOM);
  const cell = await runOne(t, room, async (job) => {
    await bench.redis.client('PAUSE', 60_000, 'WRITE');
    return served(job);
  });
  await until('a settlement that Redis does not take yet', async () =>
    /flags=\w*b\w* .*cmd=eval/.test(String(await bench.redis.client('LIST'))),
  );
  const isFree = watch(room);
  t.false(isFree());
  await bench.redis.client('UNPAUSE');
  await until('the share', isFree);
  t.deepEqual(
    (await cell.log()).map(({ id }) => id),
    ['one'],
  );
});

const WITHOUT_SETTLEMENT: Record<string, Parameters<typeof runOne>[2]> = {
  'that left it to another': async () => undefined,
  'that failed': async () => {
    throw new Error('by an error of the gateway');
  },
  'that was settled by another meanwhile': async (job, cell, taken) => {
    await cell.queue.settle(served(job), { as: 'worker', token: taken.lock });
    return served(job);
  },
  'whose lock another has': async (job, cell, taken) => {
    await bench.redis.set(cell.names.queueKey('openai', `${taken.id}:lock`), 'another');
    return served(job);
  },
};

for (const [which, run] of Object.entries(WITHOUT_SETTLEMENT)) {
  test.serial(`a job ${which} gives its share back`, async (t) => {
    const room = new AnswerRoom(ROOM);
    let hasBegun = false;
    await runOne(t, room, (...args) => {
      hasBegun = true;
      return run(...args);
    });
    await until('the job', () => hasBegun);
    await until('the share', watch(room));
  });
}
