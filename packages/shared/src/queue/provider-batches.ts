/**
 * Parts of batches that are at a provider's own batch API. An api process makes a part and takes up what became of it. A
 * worker, which has the provider's key, does the steps between:
 *
 *   waiting ─► creating ─► at_provider ─► ended ─(api: its lines are recorded again)─► merging ─► merged
 *      └───────────┴────────────┴──► refused
 *
 * A worker holds the lease of a part while it does a step, and writes nothing without it.
 */
import type { Redis } from 'ioredis';
import type { ChainEntry } from '../contract/route.js';
import type { ShardNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import type { Attempt, ChatJob, JobEndpoint } from './job.js';

export type PartStatus = 'waiting' | 'creating' | 'at_provider' | 'ended' | 'merging' | 'merged' | 'refused';

/** The fixed part of the record. Times are Redis time, in ms. */
export interface HandedPart {
  id: string;
  batch: string;
  workspace: string;
  keyId: string;
  /** What the lines ask for. Absent: chat completions. */
  endpoint?: JobEndpoint;
  /** The caller's `model`, which is the same in all lines. */
  model: string;
  route: string | null;
  entry: ChainEntry;
  /** How many lines the provider is to get. */
  lines: number;
  /** Where the part is in the batch's file, and how many lines are before it. */
  offset: number;
  end: number;
  before: number;
  /** Numbers of lines in between that the provider does not get, because they are invalid. */
  skipped: number[];
  created: number;
  /** The reserved part of the workspace's budget, in picodollars. */
  reserved?: number;
  /** Set for requests with deadlines that were gathered: the first latest safe start then. Such a part has no batch. */
  urgentAt?: number;
}

/** Whether the part is of single requests, which wait in their queue and not in a batch. */
export function isGathered({ urgentAt }: HandedPart): boolean {
  return urgentAt !== undefined;
}

export interface PartState {
  status: PartStatus;
  /** The provider's id of its batch. Of several that may be ours, the first is tried first. */
  candidates: string[];
  /** The first one is ours for certain. */
  isCertain: boolean;
  /** The key of the provider's pool that made it. */
  key: string;
  /** The uploaded file of lines. */
  inputFile: string;
  /** When the call that creates the batch was last sent. */
  creatingAt: number;
  /** That call has failed, and is not under way any more. */
  isAnswered: boolean;
  /** The call was sent more than once, so the provider may have the part twice. */
  mayHaveTwin: boolean;
  /** When the provider had it. Of single requests: when its results were there. */
  since: number;
  /** Lines that the provider has ended. */
  ended: number;
  /** Steps in a row that failed, and polls that found it under way. */
  failures: number;
  polls: number;
  /** Why the provider did not take the part, in words. */
  reason: string;
  /** The batch is cancelled or its time is over. */
  isCancelled: boolean;
  cancelSent: boolean;
}

/**
 * The requests that wait for a part: the first and the last latest safe start, and the ids of those whose one has come. One that
 * stays beyond it is due again later.
 */
export interface PartWaits {
  first: number;
  last: number;
  due: string[];
}

export interface HandedBatch {
  part: HandedPart;
  state: PartState;
}

/** A line as it waits for its provider. `request` is the caller's body, sealed in the context of its request. */
export interface WaitingLine {
  requestId: string;
  request: string;
}

/** The batch's own record of a line, for the worker that merges the line's result. */
export interface HandedLine {
  /** The part that the line belongs to. */
  at: string;
  tags?: Record<string, string>;
  user?: string;
  /** What was changed in it for the model. */
  adapted?: string[];
}

const LEASE_MS = 15_000;
/** The mark of a line has to outlive the time until the api has stored its outcome. */
const MARK_MS = 3_600_000;
/** Lines whose part was never recorded, because the process died. */
const ORPHAN_TTL_MS = 600_000;
/** Longer than a provider has a batch. Then only the log lacks the words. */
const ADAPTED_TTL_MS = 7 * 86_400_000;

interface PartKeys {
  partKey: string;
  partsKey: string;
}

const stepScript = loadScript<
  0 | 1,
  PartKeys & { leaseKey: string },
  { token: string; id: string; due: number; knewCancel: string; fieldsAndValues: readonly string[] }
>(import.meta.url, 'step-handed-part');
const renewScript = loadScript<0 | 1, { leaseKey: string }, { token: string; ms: number }>(
  import.meta.url,
  'renew-handed-part',
);
const changeScript = loadScript<
  0 | 1,
  PartKeys,
  { id: string; due: number; from: PartStatus | ''; fieldsAndValues: readonly string[] }
>(import.meta.url, 'change-handed-part');
const releaseScript = loadScript<number, { partKey: string; reservedKey: string }>(
  import.meta.url,
  'release-handed-part',
);

const correctScript = loadScript<
  1,
  { partLeftKey: string; spentKey: string; money: string },
  { idsAndCosts: readonly (string | number)[] }
>(import.meta.url, 'correct-left');

export class ProviderBatches {
  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
  ) {}

  /** For the api. Adds lines of a part that is not recorded yet. */
  async addLines(id: string, lines: readonly WaitingLine[]): Promise<void> {
    const key = this.names.providerBatchLines(id);
    await this.redis.rpush(key, ...lines.map((line) => JSON.stringify(line)));
    await this.redis.pexpire(key, ORPHAN_TTL_MS);
  }

  async dropLines(id: string): Promise<void> {
    await this.redis.del(this.names.providerBatchLines(id));
  }

  async lines(id: string, from: number, count: number): Promise<WaitingLine[]> {
    const key = this.names.providerBatchLines(id);
    const lines = await this.redis.lrange(key, from, from + count - 1);
    return lines.map((line) => JSON.parse(line) as WaitingLine);
  }

  /** For workers: what was changed in lines for the model, by their request ids. */
  async noteAdapted(id: string, words: Record<string, string[]>): Promise<void> {
    const fields = Object.entries(words).flatMap(([requestId, each]) => [requestId, JSON.stringify(each)]);
    if (fields.length === 0) return;
    const key = this.names.providerBatchAdapted(id);
    await this.redis.hset(key, ...fields);
    await this.redis.pexpire(key, ADAPTED_TTL_MS);
  }

  async find(id: string): Promise<HandedBatch | undefined> {
    return toHandedBatch(await this.redis.hgetall(this.names.providerBatch(id)));
  }

  /** For the api, which holds the lease of the batch, and for what concerns no step. False: it is in another state. */
  async change(id: string, from: PartStatus | '', change: Partial<PartState>, due: number): Promise<boolean> {
    const args = { id, due: Math.ceil(due), from, fieldsAndValues: toFields(change) };
    return (await changeScript(this.redis, this.#partKeys(id), args)) === 1;
  }

  /** For the api: the lines of the part are settled, or reserve for themselves. */
  async releaseBudget({ id, workspace }: HandedPart): Promise<void> {
    const { names } = this;
    const keys = { partKey: names.providerBatch(id), reservedKey: names.reserved(workspace) };
    await releaseScript(this.redis, keys, {});
  }

  async remove(id: string): Promise<void> {
    await this.redis.zrem(this.names.providerBatches, id);
    const { names } = this;
    await this.redis.del(
      names.providerBatch(id),
      names.providerBatchLines(id),
      names.providerBatchWaits(id),
      names.providerBatchLeft(id),
      names.providerBatchAdapted(id),
    );
  }

  /** For workers: the parts whose next step is due. */
  due(now: number, most: number): Promise<string[]> {
    return this.redis.zrangebyscore(
      this.names.providerBatches,
      '-inf',
      String(Math.floor(now)),
      'LIMIT',
      0,
      most,
    );
  }

  async lease(id: string, token: string): Promise<boolean> {
    return (await this.redis.set(this.names.providerBatchLease(id), token, 'PX', LEASE_MS, 'NX')) === 'OK';
  }

  async renew(id: string, token: string): Promise<boolean> {
    const keys = { leaseKey: this.names.providerBatchLease(id) };
    return (await renewScript(this.redis, keys, { token, ms: LEASE_MS })) === 1;
  }

  async release(id: string, token: string): Promise<void> {
    await renewScript(this.redis, { leaseKey: this.names.providerBatchLease(id) }, { token, ms: 1 });
  }

  /** For workers. False: the lease is lost or the part is gone, and nothing was written. */
  async step(
    id: string,
    token: string,
    change: Partial<PartState>,
    due: number,
    knewCancel: boolean,
  ): Promise<boolean> {
    const keys = { ...this.#partKeys(id), leaseKey: this.names.providerBatchLease(id) };
    const step = await stepScript(this.redis, keys, {
      token,
      id,
      due: Math.ceil(due),
      knewCancel: String(knewCancel),
      fieldsAndValues: toFields(change),
    });
    return step === 1;
  }

  #partKeys(id: string): PartKeys {
    return { partKey: this.names.providerBatch(id), partsKey: this.names.providerBatches };
  }

  /** Returns those of these requests that are lines of the part and are not merged yet. */
  async linesOf({ id, batch }: HandedPart, requestIds: readonly string[]): Promise<Map<string, HandedLine>> {
    const [found, adapted] = await Promise.all([
      this.redis.hmget(this.names.batchLines(batch), ...requestIds),
      this.redis.hmget(this.names.providerBatchAdapted(id), ...requestIds),
    ]);
    const lines = new Map<string, HandedLine>();
    for (const [i, requestId] of requestIds.entries()) {
      const line = JSON.parse(found[i] ?? 'null') as HandedLine | null;
      if (line?.at !== id) continue;
      const words = JSON.parse(adapted[i] ?? 'null') as string[] | null;
      lines.set(requestId, words ? { ...line, adapted: words } : line);
    }
    return lines;
  }

  async adaptedIn(id: string, requestIds: readonly string[]): Promise<Map<string, string[]>> {
    const found = await this.redis.hmget(this.names.providerBatchAdapted(id), ...requestIds);
    return new Map(
      requestIds.flatMap((requestId, i) => (found[i] ? [[requestId, JSON.parse(found[i]) as string[]]] : [])),
    );
  }

  /** Whether a line that the provider named is one of the part's. */
  async isLineOf(part: HandedPart, requestId: string): Promise<boolean> {
    return (await this.linesOf(part, [requestId])).size === 1;
  }

  /** The requests that have left the part alone, and whose lines may be billed. */
  left(id: string): Promise<string[]> {
    return this.redis.hkeys(this.names.providerBatchLeft(id));
  }

  /** Budgets count what these lines have cost, in picodollars, in the place of the estimates. */
  async correct({ id, workspace }: HandedPart, costs: ReadonlyMap<string, number>): Promise<void> {
    if (costs.size === 0) return;
    const { names } = this;
    const keys = {
      partLeftKey: names.providerBatchLeft(id),
      spentKey: names.spent(workspace),
      money: names.money(workspace),
    };
    await correctScript(this.redis, keys, { idsAndCosts: [...costs].flat() });
  }

  /** How many outcomes the api has not stored yet. */
  unstored(batch: string): Promise<number> {
    return this.redis.xlen(this.names.batchResults(batch));
  }

  /** The provider's ids of all batches that are certainly those of a part. */
  async certainIds(): Promise<string[]> {
    return (await this.#all()).flatMap(({ state }) => (state.isCertain ? state.candidates : []));
  }

  /** Whether a part waits for the provider, or is there. `keys`: whether it was, or may have been, made with one of them. */
  async isUsing(provider: string, keys?: readonly string[]): Promise<boolean> {
    const isWith = (used: string) => keys === undefined || keys.includes(used) || used === '';
    return (await this.#all()).some(
      ({ part, state }) => part.entry.provider === provider && isWith(state.key),
    );
  }

  async #all(): Promise<HandedBatch[]> {
    const ids = await this.redis.zrange(this.names.providerBatches, '0', '-1');
    const found = await Promise.all(ids.map((id) => this.find(id)));
    return found.flatMap((handed) => handed ?? []);
  }

  /** Whether the batch of a part still exists. It goes with its workspace. */
  async hasBatch(batch: string): Promise<boolean> {
    return (await this.redis.exists(this.names.batch(batch))) === 1;
  }
}

/** The request of a line that its provider had. It was in no queue. */
export function jobOfLine(
  part: HandedPart,
  { tags, user }: Pick<HandedLine, 'tags' | 'user'>,
  requestId: string,
  now: number,
  attempt: Attempt,
): ChatJob {
  return {
    requestId,
    workspace: part.workspace,
    keyId: part.keyId,
    ...(part.endpoint ? { endpoint: part.endpoint } : {}),
    model: part.model,
    route: part.route,
    chain: [part.entry],
    entry: 0,
    onCrash: 'rerun',
    inbox: '',
    batch: part.batch,
    acceptedAt: part.created,
    priority: 'background',
    queuedAt: part.created,
    waitUntil: part.created,
    deadline: now + MARK_MS,
    queueMs: 0,
    attempts: [attempt],
    request: '',
    ...(tags ? { tags } : {}),
    ...(user === undefined ? {} : { user }),
  };
}

function toFields(change: Partial<PartState>): string[] {
  return Object.entries(change).flatMap(([field, value]) => [
    field,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
}

function toHandedBatch(fields: Record<string, string>): HandedBatch | undefined {
  const { part, status } = fields;
  if (part === undefined || status === undefined) return undefined;
  const number = (field: string) => Number(fields[field] ?? 0);
  const state: PartState = {
    status: status as PartStatus,
    candidates: JSON.parse(fields.candidates ?? '[]') as string[],
    isCertain: fields.isCertain === 'true',
    key: fields.key ?? '',
    inputFile: fields.inputFile ?? '',
    creatingAt: number('creatingAt'),
    isAnswered: fields.isAnswered === 'true',
    mayHaveTwin: fields.mayHaveTwin === 'true',
    since: number('since'),
    ended: number('ended'),
    failures: number('failures'),
    polls: number('polls'),
    reason: fields.reason ?? '',
    isCancelled: fields.isCancelled === 'true',
    cancelSent: fields.cancelSent === 'true',
  };
  return { part: JSON.parse(part) as HandedPart, state };
}
