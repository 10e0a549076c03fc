/**
 * Settles the lines of a provider's batch by its results. A line whose result is missing or says "another time" is left: the
 * api runs it like any other line. Every line is settled once, because its request leaves a mark, and because a line that
 * the api has stored is not among the recorded lines any more.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Adjustments, BY_RESULTS } from '@sluice/shared/archive/adjustments';
import { dayOf } from '@sluice/shared/calendar';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { Attempt, ChatJob } from '@sluice/shared/queue/job';
import {
  type HandedBatch,
  type HandedLine,
  type HandedPart,
  isGathered,
  jobOfLine,
  type ProviderBatches,
} from '@sluice/shared/queue/provider-batches';
import type { Settlement, Settler } from '@sluice/shared/queue/settle';
import type { Clock } from '@sluice/shared/redis/clock';
import { familyOf } from '@sluice/shared/registry/model-family';
import type { ReadResult } from '../calls/batch-client.js';
import { isEmpty, type Upstream } from '../calls/call-provider.js';
import type { PriceCalls } from '../calls/pricing.js';
import type { Upstreams } from '../calls/upstreams.js';
import { failureOf } from '../providers/failure.js';
import { isObject } from '../providers/json.js';
import { type BatchNews, type BatchResult, FailedResponse, UnusableResponse } from '../providers/types.js';
import { toErrorInfo } from './failed-job.js';
import type { LeaveBatch } from './leave-batch.js';
import type { SettlementMaker } from './settlement-maker.js';
import type { WorkerMetrics } from './worker-metrics.js';

const AT_ONCE = 32;
/** Results that are in memory at a time. One may be larger than that. */
const BYTES_AT_ONCE = 4 * 1024 * 1024;
/** When this many outcomes wait for the api, the results are read no further. */
const MOST_UNSTORED = 256;
/** When so much was settled, all of it is stored before more is read. */
const MOST_UNSTORED_BYTES = 8 * 1024 * 1024;
/** Results that are fewer than the provider says are read this often again. Then the missing lines run one by one. */
const MOST_READS = 8;
const LOOK_EVERY_MS = 100;
const LONGEST_WAIT_MS = 60_000;

/** An answer that cannot be used is billed if it says what was used, or what was written before an error came. */
function isBilled(error: unknown, body: unknown): boolean {
  if (error instanceof FailedResponse) return error.billed !== undefined;
  if (error instanceof UnusableResponse) return isObject(body) && isObject(body.usage);
  throw error;
}

function isWasted(provider: Upstream['provider'], body: unknown, now: number): boolean {
  try {
    provider.parseResponse(body, now);
    return false;
  } catch (error) {
    return isBilled(error, body);
  }
}

/** A line of a batch, or a single request that is away. */
type AwayLine = HandedLine & { job?: ChatJob };

export interface ProviderBatchResultsParts {
  store: ProviderBatches;
  queue: ChatQueue;
  settlements: SettlementMaker;
  pricing: Pick<PriceCalls, 'ofBatch'>;
  adjustments: Pick<Adjustments, 'add'>;
  upstreams: Pick<Upstreams, 'get'>;
  leaveBatch: LeaveBatch;
  clock: Clock;
  metrics: Pick<WorkerMetrics, 'batchLines' | 'called'>;
}

export class ProviderBatchResults {
  constructor(private readonly parts: ProviderBatchResultsParts) {}

  /** False: the api is not ready for it. */
  async merge(
    handed: HandedBatch,
    upstream: Upstream,
    results: AsyncIterable<ReadResult>,
    news: BatchNews,
    lease: AbortSignal,
  ): Promise<boolean> {
    const { store, metrics } = this.parts;
    const { part, state } = handed;
    // The lines that an earlier worker settled are stored first. Then the recorded lines are exactly those that are left.
    const isSingle = isGathered(part);
    if (!isSingle && (await store.unstored(part.batch)) > 0) return false;
    let [merged, undecided, read] = [0, 0, 0];
    let [bytes, unstoredBytes] = [0, 0];
    let group: ReadResult[] = [];
    const left = new Set(isSingle ? await store.left(part.id) : []);
    const costs = new Map<string, number>();
    const settleGroup = async (): Promise<void> => {
      const ids = group.map(({ id }) => id);
      const lines: Map<string, AwayLine> = isSingle
        ? await this.#away(part, ids)
        : await store.linesOf(part, ids);
      for (const result of group) {
        if (left.delete(result.id)) {
          const cost = this.#costOf(handed, upstream, result);
          if (cost !== undefined) costs.set(result.id, cost);
        }
        const line = lines.get(result.id);
        if (line?.job && (await this.#mayLeave(handed, upstream, line.job, result))) {
          undecided++;
          continue;
        }
        const settlement = line && this.#settlementOf(handed, upstream, line, result, news.id);
        if (line && !settlement) undecided++;
        if (!settlement) continue;
        const by: Settler = isSingle ? { as: 'withdrawer' } : { as: 'refuser' };
        const settled = await this.parts.queue.settle(settlement, by);
        if (settled === 'settled') this.parts.settlements.recorded(settlement, settled);
        lines.delete(result.id);
        merged++;
      }
      unstoredBytes += bytes;
      [group, bytes] = [[], 0];
      const isMuch = unstoredBytes >= MOST_UNSTORED_BYTES;
      if (isSingle && lease.aborted) throw new Error('the lease is lost');
      if (!isSingle) await this.#wait(part.batch, isMuch ? 0 : MOST_UNSTORED, lease);
      if (isMuch) unstoredBytes = 0;
    };
    for await (const result of results) {
      read++;
      group.push(result);
      bytes += result.bytes;
      if (group.length >= AT_ONCE || bytes >= BYTES_AT_ONCE) await settleGroup();
    }
    if (group.length > 0) await settleGroup();
    if (read < Math.min(news.ended, part.lines) && state.failures < MOST_READS)
      throw new UnusableResponse('results are missing');
    // The provider has cancelled what has no result.
    if (read >= Math.min(news.ended, part.lines)) for (const id of left) costs.set(id, 0);
    await this.#correct(handed, costs);
    metrics.batchLines(part.entry.provider, 'merged', merged);
    metrics.batchLines(part.entry.provider, 'left', undecided + Math.max(0, part.lines - read));
    return true;
  }

  /** The single requests among these that are away in the part. */
  async #away(part: HandedPart, ids: readonly string[]): Promise<Map<string, AwayLine>> {
    const { queue, store } = this.parts;
    const adapted = await store.adaptedIn(part.id, ids);
    return new Map(
      (await queue.awayIn(part, ids)).map((job) => {
        const words = adapted.get(job.requestId);
        return [job.requestId, { at: part.id, job, ...(words ? { adapted: words } : {}) }];
      }),
    );
  }

  /** A worker that dies between the two is followed by one that finds the same. */
  async #correct({ part, state }: HandedBatch, costs: ReadonlyMap<string, number>): Promise<void> {
    const { adjustments, clock, store, upstreams } = this.parts;
    const { provider, model } = part.entry;
    const sum = [...costs.values()].reduce((all, cost) => all + cost, 0);
    if (sum > 0) {
      const name = upstreams.get(provider)?.config.renamedModels.get(model) ?? model;
      await adjustments.add(
        { provider, day: dayOf(state.since), model: familyOf(name) },
        { id: part.id, amount: String(sum), at: clock.now(), by: BY_RESULTS, why: ['unknown_bills'] },
      );
    }
    await store.correct(part, costs);
  }

  /** What a line has cost whose request has left the batch, in picodollars. Undefined: nobody knows. */
  #costOf(
    { part }: HandedBatch,
    { provider, config }: Upstream,
    { status = 0, body }: BatchResult,
  ): number | undefined {
    if (status < 200 || status >= 300) return 0;
    const { clock, pricing } = this.parts;
    const now = clock.now();
    try {
      const response = provider.parseResponse(body, now);
      if (isEmpty(response.usage)) return undefined;
      const { prices, batchPriceFactor: factor } = config;
      const { cost, estimate } = pricing.ofBatch(prices, part.entry.model, response, now, factor);
      return estimate === undefined ? cost : undefined;
    } catch (error) {
      if (error instanceof UnusableResponse) return undefined;
      throw error;
    }
  }

  /** Undefined: the provider did not decide the line. */
  #settlementOf(
    { part }: HandedBatch,
    { provider, config, api }: Upstream,
    line: AwayLine,
    { id, status, body }: BatchResult,
    providerId: string,
  ): Settlement | undefined {
    const { settlements, clock, metrics } = this.parts;
    if (status === undefined) return undefined;
    const { entry } = part;
    const now = clock.now();
    const attempt: Attempt = {
      provider: entry.provider,
      model: entry.model,
      outcome: 'ok',
      status,
      // A line in a batch has no time of its own.
      ms: 0,
      upstreamId: providerId,
      via: 'provider_batch',
      ...(api ? { api } : {}),
      ...(line.adapted ? { adapted: line.adapted } : {}),
    };
    const job = line.job
      ? { ...line.job, attempts: [...line.job.attempts, attempt] }
      : jobOfLine(part, line, id, now, attempt);
    if (status >= 200 && status < 300) {
      try {
        const response = provider.parseResponse(body, now);
        metrics.called(entry, 'ok', undefined);
        const { prices, batchPriceFactor: batchFactor } = config;
        if (isEmpty(response.usage))
          job.attempts = [...job.attempts.slice(0, -1), { ...attempt, ...this.#billOf(line, part) }];
        return settlements.served(job, { entry, prices, response, callMs: 0, batchFactor });
      } catch (error) {
        if (!isBilled(error, body)) return undefined;
        // The provider bills it, and would bill another call, which nobody has reserved.
        const failure = failureOf('bad_response', status);
        metrics.called(entry, failure.outcome, undefined);
        const { outcome } = failure;
        const attempts = [...job.attempts.slice(0, -1), { ...attempt, outcome, ...this.#billOf(line, part) }];
        return settlements.failed({ ...job, attempts }, toErrorInfo(attempts, failure));
      }
    }
    const failure = provider.parseError(status, {}, body, now);
    if (failure.fallback) return undefined;
    metrics.called(entry, failure.outcome, undefined);
    const attempts = [...job.attempts.slice(0, -1), { ...attempt, outcome: failure.outcome }];
    return settlements.failed({ ...job, attempts }, toErrorInfo(attempts, failure));
  }

  /** Nobody knows the bill of an answer without usage. For a line of a batch its part has reserved this much. */
  #billOf({ job }: AwayLine, part: HandedPart): { estimate: number } {
    const estimate = job ? this.parts.leaveBatch.billOf(job, part) : (part.reserved ?? 0) / part.lines;
    return { estimate: Math.ceil(estimate) };
  }

  /** A single request whose answer cannot be used is called, if its budget covers that beside the line. */
  async #mayLeave(
    { part }: HandedBatch,
    { provider }: Upstream,
    job: ChatJob,
    { id, status = 0, body }: BatchResult,
  ): Promise<boolean> {
    if (status < 200 || status >= 300 || !isWasted(provider, body, this.parts.clock.now())) return false;
    const leaving = { ...job, attempts: [...job.attempts], ...(job.plan ? { plan: { ...job.plan } } : {}) };
    await this.parts.leaveBatch.leave(leaving, part, { outcome: 'bad_response', status });
    return (await this.parts.queue.awayIn(part, [id])).length === 0;
  }

  /** Waits until the api has stored enough of what was settled. */
  async #wait(batch: string, most: number, lease: AbortSignal): Promise<void> {
    const latest = performance.now() + LONGEST_WAIT_MS;
    while ((await this.parts.store.unstored(batch)) > most) {
      if (performance.now() > latest) throw new Error('the results are not stored');
      await sleep(LOOK_EVERY_MS);
    }
    if (lease.aborted) throw new Error('the lease is lost');
  }
}
