/** What a shard refuses that a workspace has left, and what it refuses a process that was too slow to move it. */
import { FencedShard, Superseded } from '@sluice/admin/moves/fenced';
import { BatchStore } from '@sluice/api/batches/batch-store';
import { BackgroundRequests } from '@sluice/api/chat/background-requests';
import { FileRecords } from '@sluice/api/files/file-records';
import { WebhookStore } from '@sluice/api/webhooks/webhook-store';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { Idempotency, idempotencyDigest } from '@sluice/shared/queue/idempotency';
import { Payloads } from '@sluice/shared/queue/payload';
import { WorkspaceLimits } from '@sluice/shared/queue/workspace-limits';
import { WorkspaceMoved } from '@sluice/shared/queue/workspace-moved';
import test from '../helpers/needs-redis.js';
import { createSettleBench, jobFor, type SettleBench } from '../helpers/settle-bench.js';

let bench: SettleBench;
test.before(async () => {
  bench = await createSettleBench();
});
test.after.always(() => bench?.close());

const WORKSPACE = jobFor('any').workspace;
const DIGEST = idempotencyDigest('a key', { created: 1 });

/** A shard of a cell of several, and every way to begin something for a workspace in it. */
async function start() {
  const { redis } = bench;
  const { names: plain } = await bench.cell();
  const fence = (workspace: string) => plain.queueKey('moved', workspace);
  const names = { ...plain, fence };
  const queue = new ChatQueue(redis, { names, keptAnswerBytes: 1_000 });
  const limits = new WorkspaceLimits(redis, names);
  const idempotency = new Idempotency(redis, names);
  const background = new BackgroundRequests(redis, names, new Payloads());
  const batches = new BatchStore(redis, names, new Payloads());
  const files = new FileRecords(redis, names, new Payloads(), { maxBytes: 1_000, maxFiles: 10 });
  const webhooks = new WebhookStore(redis, names, new Payloads());
  const owner = { id: WORKSPACE, created: 1, limits: {} } as WorkspaceRecord;
  const limited = (requestId: string, mostWaitMs = 0) => {
    const now = Date.now();
    const more = { workspace: WORKSPACE, inbox: 'api', keyId: 'key', estimates: { strict: 0, expected: 0 } };
    return { requestId, ...more, now, deadline: now + 600_000, mostWaitMs };
  };
  const one = { concurrentRequests: 1, requestsPerMinute: 100 };
  const claim = (requestId: string) => {
    const { chain } = jobFor(requestId);
    const fingerprints = new Payloads().fingerprints('body');
    const more = { inbox: 'api', timeoutMs: 300_000, chain };
    return { workspace: WORKSPACE, digest: DIGEST, fingerprints, requestId, ...more };
  };
  const far = Date.now() + 600_000;
  const ways: Record<string, () => Promise<unknown>> = {
    job: () => queue.addChat({ ...jobFor('job'), deadline: far }),
    'job of a batch': () => queue.addChat({ ...jobFor('line'), deadline: far, batch: 'batch_1' }),
    reservation: () => limits.admit(limited('limited'), one),
    key: () => idempotency.admit(claim('claimed')),
    background: () =>
      background.begin(owner, { ...jobFor('later'), deadline: far }, { bodyText: '', idempotencyKey: '' }),
    'background with a key': () =>
      background.begin(owner, { ...jobFor('keyed'), deadline: far }, { bodyText: '', idempotencyKey: 'k' }),
    file: () =>
      files.add(
        WORKSPACE,
        {
          ...{ id: 'file-1', object: 'o', bytes: 1, created: 1, expires: far },
          ...{ filename: 'a', purpose: 'batch' },
        },
        { maxBytes: 100, maxFiles: 10 },
      ),
    batch: () => {
      const record = { id: 'batch_1', workspace: WORKSPACE, created: 1, inputFile: 'file-1' };
      return batches.create(record as Parameters<BatchStore['create']>[0], 3);
    },
    webhook: () => webhooks.add(WORKSPACE, { url: 'http://a', events: [], created: 1 }, 3),
  };
  const at = (attempt: number) => new FencedShard({ id: 1, redis, names }, WORKSPACE, attempt);
  return { redis, names, queue, limits, idempotency, limited, one, claim, ways, at };
}

test('a shard begins nothing for a workspace that has left it', async (t) => {
  const { redis, names, ways, at, queue } = await start();
  await at(1).close();
  const before = await redis.zcard(names.queueKey('openai', 'prioritized'));
  for (const [way, begin] of Object.entries(ways))
    await t.throwsAsync(begin(), { instanceOf: WorkspaceMoved }, way);
  t.deepEqual(await queue.listJobs(['openai', 'anthropic']), []);
  t.is(before, 0);
  await at(1).open();
  for (const [way, begin] of Object.entries(ways)) await t.notThrowsAsync(begin, way);
  t.is((await queue.listJobs(['openai', 'anthropic'])).length, 2);
});

test('who waits for room is told to ask where the workspace is, and who has it may go on', async (t) => {
  const { redis, names, limits, limited, one, at } = await start();
  await redis.xadd(names.inbox('api'), '*', 'id', 'nobody');
  t.is((await limits.admit(limited('first'), one)).as, 'admitted');
  t.is((await limits.admit(limited('second', 60_000), one)).as, 'waits');
  const times = await redis.llen(names.requestTimes(WORKSPACE));
  await at(1).close();
  t.is(await at(1).letOut(), 1, 'the first has its place');
  const [, message] = (await redis.xrevrange(names.inbox('api'), '+', '-', 'COUNT', 1))[0] ?? [];
  t.deepEqual(message, ['id', 'second', 'room', '0']);
  t.is(await redis.llen(names.requestTimes(WORKSPACE)), times - 1, 'it counts where it asks next');
  await t.throwsAsync(limits.admit(limited('second', 60_000), one, 'again'), { instanceOf: WorkspaceMoved });
  t.is((await limits.admit(limited('first'), one, 'again')).as, 'admitted');
  await limits.release(WORKSPACE, 'first', 0);
  t.is(await at(1).letOut(), 0);
});

test('a reservation of a process that died does not hold up a move', async (t) => {
  const { redis, names, limits, limited, one, at } = await start();
  await limits.admit({ ...limited('dead'), unqueuedMs: 1 }, one);
  await at(1).close();
  const until = Date.now() + 60_000;
  let left = await at(1).letOut();
  while (left > 0 && Date.now() < until) left = await at(1).letOut();
  t.is(left, 0);
  t.is(await redis.get(names.reserved(WORKSPACE)), '0');
});

test('who waits for the answer of a request that still runs gets it', async (t) => {
  const { idempotency, claim, queue, at } = await start();
  t.is((await idempotency.admit(claim('leader'))).as, 'new');
  const far = Date.now() + 600_000;
  await queue.addChat({ ...jobFor('leader'), deadline: far, idempotency: DIGEST });
  const attached = await idempotency.admit(claim('follower'));
  if (attached.as !== 'attached') return t.fail(attached.as);
  await at(1).close();
  t.is((await idempotency.look(claim('follower'), attached.to, 'lead')).as, 'attached');
  await t.throwsAsync(idempotency.admit(claim('another')), { instanceOf: WorkspaceMoved });
  // Its job is gone without a trace, and nobody leads here any more.
  await queue.withdraw({ ...jobFor('leader'), deadline: far });
  await t.throwsAsync(idempotency.look(claim('follower'), attached.to, 'lead'), {
    instanceOf: WorkspaceMoved,
  });
});

test('a process that another one has taken over from changes nothing', async (t) => {
  const { redis, names, at } = await start();
  const key = names.spent(WORKSPACE);
  const [slow, next] = [at(1), at(2)];
  await slow.close();
  await slow.put(key, 'hash', 0, [['2026-11', '1']]);
  await next.close();
  const steps = [
    () => slow.put(key, 'hash', 0, [['2026-11', '2']]),
    () => slow.list(names.fileObjects, [['1', 'object']]),
    () => slow.drop([key]),
    () => slow.unlist(names.fileObjects, ['object']),
    () => slow.letOut(),
    () => slow.open(),
    () => slow.close(),
  ];
  for (const step of steps) await t.throwsAsync(step(), { instanceOf: Superseded });
  // The workspace lives here now, and nobody else copies into it.
  await next.open();
  for (const step of steps) await t.throwsAsync(step(), { instanceOf: Superseded });
  await t.throwsAsync(next.put(key, 'hash', 0, [['2026-11', '3']]), { instanceOf: Superseded });
  t.is(await redis.hget(key, '2026-11'), '1');
  t.is(await redis.zcard(names.fileObjects), 0);
});
