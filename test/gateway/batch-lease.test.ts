/** A batch runs in one api process at a time: the one that holds its lease. */
import type { BatchRecord } from '@sluice/api/batches/batch-record';
import { LineFeeder, type LineFeederParts } from '@sluice/api/batches/line-feeder';
import { LineResults, type LineResultsParts } from '@sluice/api/batches/line-results';
import { type FedLine, LineStore } from '@sluice/api/batches/line-store';
import { LinesUnderWay } from '@sluice/api/batches/lines-under-way';
import { parseConfig } from '@sluice/shared/config/config';
import { Payloads } from '@sluice/shared/queue/payload';
import { line, toJsonl } from '../helpers/batches.js';
import test from '../helpers/needs-redis.js';
import { createSettleBench, type SettleBench } from '../helpers/settle-bench.js';

let bench: SettleBench;
test.before(async () => {
  bench = await createSettleBench();
});
test.after.always(() => bench?.close());

const RECORD: BatchRecord = {
  ...{ id: 'batch_1', workspace: 'demo', workspaceCreated: 1, keyId: 'key_1', inputFile: 'file_1' },
  ...{ inputObject: 'object', inputBytes: 1_000, created: 1, expires: Number.MAX_SAFE_INTEGER },
  ...{ outputExpiresMs: 1_000, metadata: null },
};
const FED: FedLine = {
  ...{ line: 1, offset: 0, end: 100, customId: 'a', providers: [], onCrash: 'rerun', refused: 0 },
};

test('a process that was taken for dead and wakes up sends no line of a batch that another one runs', async (t) => {
  const { names } = await bench.cell();
  const sent: string[] = [];
  const parts = {
    lineStore: new LineStore(bench.redis, names),
    files: { sealed: { read: () => [Buffer.from(toJsonl([line('a', 'hello', 'gpt-4o-mini')]))] } },
    dispatcher: {
      dispatch: ({ requestId }: { requestId: string }) => {
        sent.push(requestId);
        return new Promise(() => {});
      },
    },
    directory: { findWorkspace: async () => undefined, findRoute: async () => undefined },
    providers: new Map([['openai', {}]]),
    payloads: new Payloads(),
    clock: { now: () => Date.now() },
    protocol: () => 1,
    linesInFlight: 1,
    maxBodyBytes: 1_000_000,
    limits: parseConfig({}, {}).request.limits,
  };
  const results = new LineResults(parts as unknown as LineResultsParts, RECORD, 'mine');
  const feeder = new LineFeeder(
    parts as unknown as LineFeederParts,
    RECORD,
    'mine',
    new LinesUnderWay(),
    results,
    () => {},
  );
  await bench.redis.set(names.batchLease(RECORD.id), 'mine');
  t.true(await feeder.sendAgain('one', FED));
  await bench.redis.set(names.batchLease(RECORD.id), 'of another');
  await t.throwsAsync(feeder.sendAgain('two', FED), { message: 'the lease of the batch is lost' });
  t.deepEqual(sent, ['one']);
  t.deepEqual(await bench.redis.hkeys(names.batchLines(RECORD.id)), ['one']);
});
