/** The records of batches in Redis. */
import type { Payloads } from '@sluice/shared/queue/payload';
import { WorkspaceMoved } from '@sluice/shared/queue/workspace-moved';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import { OrderedIds } from '@sluice/shared/redis/ordered-ids';
import type { Redis } from 'ioredis';
import { toBatch, toFields, toRecordText } from './batch-fields.js';
import type { Batch, BatchRecord, BatchState, BatchStatus } from './batch-record.js';
import { cancelScript, createBatchScript, finishScript, updateScript } from './batch-scripts.js';

export class BatchStore {
  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
    private readonly payloads: Payloads,
  ) {}

  /** `active`: the workspace has the most batches under way that it may have. `file`: the input file was deleted. */
  async create(record: BatchRecord, maxActive: number): Promise<'' | 'active' | 'file'> {
    const { names } = this;
    const { id, workspace, created, inputFile } = record;
    const refused = await createBatchScript(
      this.redis,
      {
        batchKey: names.batch(id),
        batchesKey: names.batches(workspace),
        activeKey: names.activeBatches,
        filesKey: names.files(workspace),
        fenceKey: names.fence?.(workspace),
      },
      {
        id,
        created,
        maxActive,
        record: toRecordText(record, this.payloads),
        times: JSON.stringify({ validating: created }),
        file: inputFile,
      },
    );
    if (refused === 'moved') throw new WorkspaceMoved();
    return refused;
  }

  async find(id: string): Promise<Batch | undefined> {
    return toBatch(await this.redis.hgetall(this.names.batch(id)), this.payloads);
  }

  async statusOf(id: string): Promise<string | null> {
    return this.redis.hget(this.names.batch(id), 'status');
  }

  /** Their ids, and when each was created. */
  async newest(workspace: string, count: number): Promise<{ id: string; created: number }[]> {
    const key = this.names.batches(workspace);
    const found = await this.redis.zrange(key, String(-count), '-1', 'WITHSCORES');
    return found.flatMap((id, i) => (i % 2 === 0 ? { id, created: Number(found[i + 1]) } : []));
  }

  /** Newest first. */
  inOrder(workspace: string): OrderedIds {
    return new OrderedIds(this.redis, this.names.batches(workspace), 'desc');
  }

  /** Those that are still remembered. */
  async findAll(ids: readonly string[]): Promise<Batch[]> {
    const found = await Promise.all(ids.map((id) => this.find(id)));
    return found.filter((batch) => batch !== undefined);
  }

  active(): Promise<string[]> {
    return this.redis.zrange(this.names.activeBatches, '0', '-1');
  }

  /** The objects in the store that batches under way read. */
  async inputObjects(): Promise<ReadonlySet<string>> {
    const ids = await this.active();
    const records = await Promise.all(ids.map((id) => this.redis.hget(this.names.batch(id), 'record')));
    return new Set(
      records.flatMap((record) => (record === null ? [] : (JSON.parse(record) as BatchRecord).inputObject)),
    );
  }

  /** Forgets a batch whose record went with its workspace. */
  async forgetActive(id: string): Promise<void> {
    await this.redis.zrem(this.names.activeBatches, id);
  }

  cancel(id: string, times: BatchState['times']): Promise<string> {
    return cancelScript(this.redis, { batchKey: this.names.batch(id) }, { times: JSON.stringify(times) });
  }

  /** This step and `finish` need the lease. They return false without it. */
  async update(
    id: string,
    token: string,
    from: BatchStatus | '',
    change: Partial<BatchState>,
  ): Promise<boolean> {
    const keys = { firstLeaseKey: this.names.batchLease(id), batchKey: this.names.batch(id) };
    const args = { token, from, fieldsAndValues: toFields(change) };
    return (await updateScript(this.redis, keys, args)) === 1;
  }

  async finish(
    { id, workspace }: BatchRecord,
    token: string,
    change: Partial<BatchState> & { status: BatchStatus },
    now: number,
  ): Promise<boolean> {
    const { names } = this;
    const keys = {
      firstLeaseKey: names.batchLease(id),
      batchKey: names.batch(id),
      linesKey: names.batchLines(id),
      resultsKey: names.batchResults(id),
      partsKey: names.batchParts(id),
      activeKey: names.activeBatches,
      webhooksKey: names.webhooks(workspace),
      eventsKey: names.webhookEvents,
    };
    const finished = await finishScript(this.redis, keys, {
      token,
      id,
      workspace,
      event: `batch.${change.status}`,
      now: Math.round(now),
      fieldsAndValues: toFields(change),
    });
    return finished === 1;
  }
}
