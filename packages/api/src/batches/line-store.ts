/** The lines of batches that are under way, and their outcomes that are not stored yet, in Redis. */
import type { OnCrash } from '@sluice/shared/contract/route';
import type { HandedLine, HandedPart } from '@sluice/shared/queue/provider-batches';
import { reservationOf } from '@sluice/shared/queue/workspace-limits';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';
import type { HandedOver } from './batch-record.js';
import { acknowledgeScript, claimScript, handOverScript } from './batch-scripts.js';

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
  onCrash: OnCrash;
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

/** A step that changes something needs the lease of the batch. It returns false without it. */
export class LineStore {
  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
  ) {}

  async claim(
    id: string,
    token: string,
    at: { offset: number; lines: number },
    claimed: ReadonlyMap<string, FedLine>,
  ): Promise<boolean> {
    const args = { token, ...at, claimed: inTurn(claimed) };
    return (await claimScript(this.redis, this.#keys(id), args)) === 1;
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
    const keys = {
      ...this.#keys(id),
      partKey: names.providerBatch(partId),
      partsKey: names.providerBatches,
      partLinesKey: names.providerBatchLines(partId),
      reservationsKey: names.reservations(part?.workspace ?? ''),
      reservedKey: names.reserved(part?.workspace ?? ''),
    };
    const { reserved } = part ?? {};
    const handed = await handOverScript(this.redis, keys, {
      token,
      ...at,
      handedOver: JSON.stringify(plan),
      part: partId,
      due: Math.ceil(part?.created ?? 0),
      keptMs: HANDED_LINES_MS,
      record: JSON.stringify(part ?? null),
      reservation: reserved === undefined ? '' : reservationOf(partId, reserved),
      reserved: reserved ?? 0,
      claimed: inTurn(oneByOne),
    });
    return handed === 1;
  }

  /** Records lines, or changes their records. */
  noteLines(id: string, token: string, again: Map<string, FedLine>): Promise<boolean> {
    return this.acknowledge(id, token, { sums: {}, parts: [], results: [], requestIds: [], again });
  }

  async underWay(id: string): Promise<Map<string, FedLine>> {
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
    const lists = [
      ...[sums.length, ...sums.flat()],
      ...[done.parts.length, ...done.parts.map((part) => JSON.stringify(part))],
      ...[done.results.length, ...done.results],
      ...[done.requestIds.length, ...done.requestIds],
      ...[done.again.size, ...inTurn(done.again)],
    ];
    const keys = {
      ...this.#keys(id),
      resultsKey: names.batchResults(id),
      partsKey: names.batchParts(id),
    };
    return (await acknowledgeScript(this.redis, keys, { token, lists })) === 1;
  }

  #keys(id: string) {
    const { names } = this;
    return {
      firstLeaseKey: names.batchLease(id),
      batchKey: names.batch(id),
      linesKey: names.batchLines(id),
    };
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
}

function inTurn(lines: ReadonlyMap<string, FedLine>): string[] {
  return [...lines].flatMap(([requestId, line]) => [requestId, JSON.stringify(line)]);
}
