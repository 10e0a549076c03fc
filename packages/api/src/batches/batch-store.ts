/** Batches in Redis: small records, and only the lines that are under way. */
import type { HandedLine, HandedPart } from '@sluice/shared/queue/provider-batches';
import { reservationOf } from '@sluice/shared/queue/workspace-limits';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import { OrderedIds } from '@sluice/shared/redis/ordered-ids';
import type { Redis } from 'ioredis';
import {
  type Batch,
  type BatchRecord,
  type BatchState,
  type BatchStatus,
  type HandedOver,
  isFinal,
} from './batch-record.js';
import {
  acknowledgeScript,
  cancelScript,
  claimScript,
  createBatchScript,
  finishScript,
  handOverScript,
  releaseScript,
  renewScript,
  updateScript,
} from './batch-scripts.js';

const LEASE_MS = 10_000;
/** Longer than a batch takes. */
const HANDED_LINES_MS = 2 * 86_400_000;

/** A line that was queued. Its request's id is its name. */
export interface FedLine extends Partial<HandedLine> {
  line: number;
  offset: number;
  end: number;
  /** The caller's id of the line, sealed. */
  customId: string;
  /** The providers of the line's chain, in whose queues the job may be. Empty: the model is not resolved yet. */
  providers: string[];
  onCrash: 'rerun' | 'fail';
  /** How often providers could not take the line for now. */
  refused: number;
  /** The line waits for another try until this moment of Redis time, unless it has providers: then it was sent. */
  until?: number;
}

export interface Part {
  object: string;
  bytes: number;
  kind: 'output' | 'error';
}

export interface Acknowledged {
  sums: Record<string, number>;
  parts: Part[];
  results: string[];
  requestIds: string[];
  again: Map<string, FedLine>;
}

export interface StoredResult {
  entryId: string;
  requestId: string;
  head: string;
  body: string;
  cost: number;
}

export class BatchStore {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
  ) {}

  /** False: the workspace has the most batches under way that it may have. */
  async create(record: BatchRecord, maxActive: number): Promise<boolean> {
    const { names } = this;
    const refused = await createBatchScript(
      this.redis,
      [names.batch(record.id), names.batches(record.workspace), names.activeBatches],
      [
        record.id,
        record.created,
        maxActive,
        JSON.stringify(record),
        JSON.stringify({ validating: record.created }),
      ],
    );
    return refused === '';
  }

  async find(id: string): Promise<Batch | undefined> {
    return toBatch(await this.redis.hgetall(this.names.batch(id)));
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

  /** Forgets a batch whose record went with its workspace. */
  async forgetActive(id: string): Promise<void> {
    await this.redis.zrem(this.names.activeBatches, id);
  }

  cancel(id: string, times: BatchState['times']): Promise<string> {
    return cancelScript(this.redis, [this.names.batch(id)], [JSON.stringify(times)]);
  }

  async lease(id: string, token: string): Promise<boolean> {
    return (await this.redis.set(this.names.batchLease(id), token, 'PX', LEASE_MS, 'NX')) === 'OK';
  }

  async renew(id: string, token: string): Promise<boolean> {
    return (await renewScript(this.redis, [this.names.batchLease(id)], [token, LEASE_MS])) === 1;
  }

  async release(id: string, token: string): Promise<void> {
    await releaseScript(this.redis, [this.names.batchLease(id)], [token]);
  }

  /** This and the following steps need the lease. They return false without it. */
  async update(
    id: string,
    token: string,
    from: BatchStatus | '',
    change: Partial<BatchState>,
  ): Promise<boolean> {
    const keys = [this.names.batchLease(id), this.names.batch(id)];
    return (await updateScript(this.redis, keys, [token, from, ...toFields(change)])) === 1;
  }

  async claim(
    id: string,
    token: string,
    at: { offset: number; lines: number },
    claimed: ReadonlyMap<string, FedLine>,
  ): Promise<boolean> {
    const keys = [this.names.batchLease(id), this.names.batch(id), this.names.batchLines(id)];
    const lines = [...claimed].flatMap(([requestId, line]) => [requestId, JSON.stringify(line)]);
    return (await claimScript(this.redis, keys, [token, at.offset, at.lines, ...lines])) === 1;
  }

  /** Claims lines in order to hand them to the provider. Those of `oneByOne` run like any other line. */
  async handOver(
    id: string,
    token: string,
    at: { offset: number; lines: number },
    oneByOne: ReadonlyMap<string, FedLine>,
    plan: HandedOver,
    part: HandedPart | undefined,
  ): Promise<boolean> {
    const { names } = this;
    const partId = part?.id ?? '';
    const keys = [
      names.batchLease(id),
      names.batch(id),
      names.batchLines(id),
      names.providerBatch(partId),
      names.providerBatches,
      names.providerBatchLines(partId),
      names.reservations(part?.workspace ?? ''),
      names.reserved(part?.workspace ?? ''),
    ];
    const lines = [...oneByOne].flatMap(([requestId, line]) => [requestId, JSON.stringify(line)]);
    const head = [token, at.offset, at.lines, JSON.stringify(plan), partId, Math.ceil(part?.created ?? 0)];
    const { reserved } = part ?? {};
    const reservation = reserved === undefined ? ['', 0] : [reservationOf(partId, reserved), reserved];
    const args = [...head, HANDED_LINES_MS, JSON.stringify(part ?? null), ...reservation, ...lines];
    return (await handOverScript(this.redis, keys, args)) === 1;
  }

  /** Records lines, or changes their records. */
  noteLines(id: string, token: string, again: Map<string, FedLine>): Promise<boolean> {
    return this.acknowledge(id, token, { sums: {}, parts: [], results: [], requestIds: [], again });
  }

  async lines(id: string): Promise<Map<string, FedLine>> {
    const lines = await this.redis.hgetall(this.names.batchLines(id));
    return new Map(
      Object.entries(lines).map(([requestId, line]) => [requestId, JSON.parse(line) as FedLine]),
    );
  }

  async results(id: string, count: number): Promise<StoredResult[]> {
    const entries = await this.redis.xrange(this.names.batchResults(id), '-', '+', 'COUNT', count);
    return entries.map(([entryId, fields]) => {
      const values = new Map<string, string>();
      for (let i = 0; i + 1 < fields.length; i += 2) values.set(fields[i] ?? '', fields[i + 1] ?? '');
      return {
        entryId,
        requestId: values.get('id') ?? '',
        head: values.get('head') ?? '{}',
        body: values.get('body') ?? '',
        cost: Number(values.get('cost') ?? 0),
      };
    });
  }

  async acknowledge(id: string, token: string, done: Acknowledged): Promise<boolean> {
    const { names } = this;
    const sums = Object.entries(done.sums).filter(([, value]) => value !== 0);
    const again = [...done.again];
    const args = [
      token,
      ...[sums.length, ...sums.flat()],
      ...[done.parts.length, ...done.parts.map((part) => JSON.stringify(part))],
      ...[done.results.length, ...done.results],
      ...[done.requestIds.length, ...done.requestIds],
      ...[again.length, ...again.flatMap(([requestId, line]) => [requestId, JSON.stringify(line)])],
    ];
    const keys = [
      names.batchLease(id),
      names.batch(id),
      names.batchLines(id),
      names.batchResults(id),
      names.batchParts(id),
    ];
    return (await acknowledgeScript(this.redis, keys, args)) === 1;
  }

  async parts(id: string): Promise<Part[]> {
    const parts = await this.redis.lrange(this.names.batchParts(id), 0, -1);
    return parts.map((part) => JSON.parse(part) as Part);
  }

  /** Whether a job of the request is on one of these queues, or the request has been settled. */
  async isUnderWay(requestId: string, { providers }: FedLine): Promise<boolean> {
    const jobs = providers.map((provider, entry) => this.names.queueKey(provider, `${requestId}-${entry}`));
    return (await this.redis.exists(this.names.settled(requestId), ...jobs)) > 0;
  }

  async finish(
    { id, workspace }: BatchRecord,
    token: string,
    change: Partial<BatchState> & { status: BatchStatus },
    now: number,
  ): Promise<boolean> {
    const { names } = this;
    const keys = [
      names.batchLease(id),
      names.batch(id),
      names.batchLines(id),
      names.batchResults(id),
      names.batchParts(id),
      names.activeBatches,
      names.webhooks(workspace),
      names.webhookEvents,
    ];
    const event = [workspace, `batch.${change.status}`, Math.round(now)];
    return (await finishScript(this.redis, keys, [token, id, ...event, ...toFields(change)])) === 1;
  }
}

/** These fields are sums that Redis adds to. All other fields are JSON. */
const SUMS = ['completed', 'failed', 'cost', 'input', 'cached', 'output', 'reasoning'] as const;
const CODE = 'code:';

export function codeField(code: string): string {
  return CODE + code;
}

function toFields(change: Partial<BatchState>): string[] {
  return Object.entries(change).flatMap(([field, value]) => [
    field,
    typeof value === 'object' || field.endsWith('File') ? JSON.stringify(value) : String(value ?? ''),
  ]);
}

function toBatch(fields: Record<string, string>): Batch | undefined {
  const { record, status, times, errors, endReason, outputFile, errorFile, waitsFor, handedOver } = fields;
  if (record === undefined || status === undefined) return undefined;
  const number = (field: string) => Number(fields[field] ?? 0);
  const [completed, failed, cost, input, cached, output, reasoning] = SUMS.map(number) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const codes = Object.entries(fields).filter(([field]) => field.startsWith(CODE));
  const state: BatchState = {
    status: status as BatchStatus,
    times: JSON.parse(times ?? '{}'),
    errors: JSON.parse(errors ?? '[]'),
    endReason: (endReason || undefined) as BatchState['endReason'],
    endingSince: fields.endingSince ? number('endingSince') : undefined,
    outputFile: outputFile === undefined ? null : JSON.parse(outputFile),
    errorFile: errorFile === undefined ? null : JSON.parse(errorFile),
    total: number('total'),
    offset: number('offset'),
    lines: number('lines'),
    completed,
    failed,
    cost,
    usage: { input, cached, output, reasoning },
    codes: Object.fromEntries(codes.map(([field, count]) => [field.slice(CODE.length), Number(count)])),
    waitsFor: isFinal(status as BatchStatus)
      ? undefined
      : ((waitsFor || undefined) as BatchState['waitsFor']),
    handedOver: handedOver ? (JSON.parse(handedOver) as HandedOver) : undefined,
  };
  return { record: JSON.parse(record) as BatchRecord, state };
}
