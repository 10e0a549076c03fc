/** The input file of a batch that goes, or is out of reach, while the batch needs it. */
import { renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Batch, BatchRecord, BatchStatus } from '@sluice/api/batches/batch-record';
import { type BatchParts, BatchRun } from '@sluice/api/batches/batch-run';
import { BatchStore } from '@sluice/api/batches/batch-store';
import { FileRecords } from '@sluice/api/files/file-records';
import { Files } from '@sluice/api/files/files';
import { FolderStore } from '@sluice/api/files/folder-store';
import { SealedFiles } from '@sluice/api/files/sealed-files';
import { readLines } from '@sluice/shared/json/read-lines';
import { Payloads } from '@sluice/shared/queue/payload';
import { withCell } from '@sluice/shared/redis/cluster';
import { keyNames } from '@sluice/shared/redis/key-names';
import { connectPatiently } from '@sluice/shared/redis/redis';
import { toFile } from 'openai';
import { batchEnd, createBatch, line, toJsonl } from '../helpers/batches.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { sdkFor } from '../helpers/sdk.js';
import { until } from '../helpers/until.js';

let gateway: Gateway;

test.before(async () => {
  gateway = await startGateway({ workers: 1 });
});
test.after.always(() => gateway?.stop());

const folder = () => join(dirname(gateway.configPath), 'files');

/** A batch that another process has brought so far. Its file and the bytes of its file are gone. */
async function recordWithoutFile(name: string, fields: Record<string, string | number>): Promise<string> {
  const client = sdkFor(gateway);
  const { redis, names } = gateway;
  const { id, input_file_id: file } = await createBatch(client, toJsonl([line('a', 'hello')]));
  await batchEnd(client, id);
  await client.files.delete(file);
  const record = {
    ...JSON.parse((await redis.hget(names.batch(id), 'record')) ?? '{}'),
    id: `${id}-${name}`,
  };
  const own = { record: JSON.stringify(record), times: '{}', ...fields };
  await redis.hset(names.batch(record.id), own);
  await redis.zadd(names.batches('demo'), record.created, record.id);
  await redis.zadd(names.activeBatches, record.created, record.id);
  return record.id;
}

test('a batch fails when its file was deleted in the moment in which it was created', async (t) => {
  const id = await recordWithoutFile('late', { status: 'validating' });
  const ended = await batchEnd(sdkFor(gateway), id);
  t.is(ended.status, 'failed');
  t.is(ended.errors?.data?.[0]?.code, 'input_file_missing');
});

test('a batch whose file another version has removed ends, and counts the lines that are left', async (t) => {
  const running = await recordWithoutFile('running', { status: 'in_progress', total: 5, completed: 1 });
  const ending = await recordWithoutFile('ending', {
    ...{ status: 'finalizing', endReason: 'batch_expired' },
    ...{ total: 5, completed: 2, failed: 1 },
  });
  for (const [id, status, completed] of [
    [running, 'cancelled', 1],
    [ending, 'expired', 2],
  ] as const) {
    const ended = await batchEnd(sdkFor(gateway), id);
    t.like(ended, { status, request_counts: { total: 5, completed, failed: 5 - completed } });
    t.is(ended.errors?.data?.[0]?.code, 'input_file_missing');
  }
});

test('a batch whose file is out of reach waits for it', async (t) => {
  const client = sdkFor(gateway);
  const content = Buffer.from(toJsonl([line('a', 'hello')]));
  const file = await client.files.create({ file: await toFile(content, 'a.jsonl'), purpose: 'batch' });
  const path = join(folder(), 'demo', file.id);
  renameSync(path, `${path}-elsewhere`);
  const { id } = await client.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  const isInterrupted = (text: string) => text.includes(id) && text.includes('a batch was interrupted');
  await until('a try', () => gateway.output().split('\n').some(isInterrupted));
  t.is((await client.batches.retrieve(id)).status, 'validating');
  renameSync(`${path}-elsewhere`, path);
  t.is((await batchEnd(client, id)).status, 'completed');
});

test('no batch is created with a file whose bytes are about to be removed', async (t) => {
  const redis = connectPatiently(withCell(gateway.redisServer.url, 'moment'));
  t.teardown(() => redis.disconnect());
  const names = keyNames('moment');
  const clock = { now: () => Date.now() };
  const store = new BatchStore(redis, names, new Payloads());
  const records = new FileRecords(redis, names, new Payloads(), { maxBytes: 1_000, maxFiles: 10 });
  const sealed = new SealedFiles(new FolderStore(join(folder(), 'moment')), new Payloads());
  const created: string[] = [];
  // Whoever removes bytes has just asked which of them batches read.
  const files = new Files(records, sealed, clock, async () => {
    const held = await store.inputObjects();
    for (const file of [deleted, expired])
      created.push(await store.create(batchOf(`batch_${file.id}`, file.id, file.object), 3));
    return held;
  });
  const fileOf = async (id: string, expires: number) => {
    const file = {
      id,
      object: `w/${id}`,
      bytes: 1,
      created: 0,
      expires,
      filename: 'a',
      purpose: 'batch',
    } as const;
    await records.add('w', file, records.quota);
    return file;
  };
  const deleted = await fileOf('file-deleted', Date.now() + 3_600_000);
  const expired = await fileOf('file-expired', Date.now() + 3_600_000);
  t.is(await store.create(batchOf('batch_first', deleted.id, deleted.object), 3), '');
  await records.expectObject(expired.object, 0);
  await records.remove('w', deleted);
  await files.removeDue();
  t.deepEqual(created, ['file', 'file']);
  t.true(await records.isListed(deleted.object), 'the first batch reads it');
  t.false(await records.isListed(expired.object));
});

function batchOf(id: string, inputFile: string, inputObject: string): BatchRecord {
  return {
    ...{ id, workspace: 'w', workspaceCreated: 0, keyId: 'k', inputFile, inputObject, inputBytes: 1 },
    ...{ created: 0, expires: 0, outputExpiresMs: 0, metadata: null },
  };
}

test('a file of empty lines is refused, and reading it lets the process do other work', async (t) => {
  const client = sdkFor(gateway);
  const { id } = await createBatch(client, `${toJsonl([line('a', 'hello')])}${'\n'.repeat(200_000)}`);
  const ended = await batchEnd(client, id);
  t.is(ended.status, 'failed');
  t.is(ended.errors?.data?.[0]?.code, 'too_many_tasks');
  t.regex(ended.errors?.data?.[0]?.message ?? '', /empty lines/);

  let turns = 0;
  const count = () => {
    turns++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  async function* emptyLines() {
    yield Buffer.from('\n'.repeat(40_000));
  }
  for await (const _ of readLines(emptyLines(), 1_000)) t.fail();
  clearImmediate(next);
  t.true(turns > 40, `${turns} turns`);
});

for (const [how, status, stop] of [
  ['is cancelled', 'cancelling', () => {}],
  ['belongs to a process that stops', 'validating', (run: BatchRun) => run.stop()],
] as const)
  test(`the check of a file of empty lines ends when its batch ${how}`, async (t) => {
    const record = batchOf('batch_checked', 'file', 'w/file');
    let isFound = false;
    let isUnwanted = false;
    let pieces = 0;
    const parts = {
      limits: {},
      maxBodyBytes: 1_000,
      store: {
        async find() {
          const found = { record, state: { status: 'validating', times: {} } } as unknown as Batch;
          const batch = isFound ? undefined : found;
          isFound = true;
          return batch;
        },
        statusOf: async (): Promise<BatchStatus> => (isUnwanted ? status : 'validating'),
      },
      files: {
        sealed: {
          async *read() {
            // Longer than the run takes to look whether its batch is still wanted.
            for (; pieces < 5; pieces++) {
              yield Buffer.from('\n'.repeat(1_000));
              await new Promise((resolve) => setTimeout(resolve, 300));
              isUnwanted = true;
              stop(run);
            }
          },
        },
        wasRemoved: () => t.fail('the file is there'),
      },
    };
    const run = new BatchRun(
      parts as unknown as BatchParts,
      { record, state: {} } as unknown as Batch,
      'token',
    );
    await run.run();
    t.is(pieces, 1, 'the rest was not read');
  });
