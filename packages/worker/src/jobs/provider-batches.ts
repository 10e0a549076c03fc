/**
 * Does the steps of batches that are handed to providers' own batch APIs (docs/adr/0025). Every worker looks for steps that
 * are due, and does those whose lease it gets. A step that fails is done again later, by any worker.
 */
import { GatewayError } from '@sluice/shared/errors';
import type { Logger } from '@sluice/shared/process/logger';
import { type Payloads, requestContext } from '@sluice/shared/queue/payload';
import type {
  HandedBatch,
  HandedPart,
  PartState,
  PartStatus,
  ProviderBatches,
} from '@sluice/shared/queue/provider-batches';
import { isRedisAway } from '@sluice/shared/redis/away';
import type { Clock } from '@sluice/shared/redis/clock';
import { makeRequestId } from '@sluice/shared/request-id';
import { BatchClient, BatchRefused, inWords } from '../calls/batch-client.js';
import type { Upstream } from '../calls/call-provider.js';
import type { Upstreams } from '../calls/upstreams.js';
import type { BatchNews, BatchResult } from '../providers/types.js';
import { parseRequest } from './parse-request.js';
import type { ProviderBatchResults } from './provider-batch-results.js';
import type { WorkerMetrics } from './worker-metrics.js';

export const LOOK_FOR_STEPS_EVERY_MS = 500;
/** Each may have some megabytes of lines in memory. */
const MOST_STEPS = 4;
const RENEW_EVERY_MS = 5_000;
const READ_AT_ONCE = 64;
/** The waits between polls grow by half up to this many times the first. */
const MOST_WAITS = 10;
/** A part that the provider could not take this often in a row is given back. */
const MOST_FAILURES = 8;
/** The provider's clock may differ from ours. */
const CLOCKS_DIFFER_MS = 300_000;
const AT_ONCE = 0;

export interface ProviderBatchParts {
  store: ProviderBatches;
  results: ProviderBatchResults;
  upstreams: Upstreams;
  payloads: Payloads;
  clock: Clock;
  logger: Logger;
  metrics: Pick<WorkerMetrics, 'batchLines' | 'batchStep'>;
  pollMs(): number;
}

/** What a step has changed, and in how many ms the next one is due. */
export type StepEnd = Partial<PartState> & { dueInMs: number };

export class ProviderBatchSteps {
  readonly #running = new Map<string, Promise<void>>();
  #open = true;

  constructor(private readonly parts: ProviderBatchParts) {}

  /** Begins the steps that are due. It does not wait for them. */
  async look(): Promise<void> {
    if (!this.#open || this.#running.size >= MOST_STEPS) return;
    const { store, clock } = this.parts;
    for (const id of await store.due(clock.now(), MOST_STEPS + this.#running.size)) {
      if (this.#running.size >= MOST_STEPS) return;
      if (this.#running.has(id)) continue;
      const token = makeRequestId();
      if (!(await store.lease(id, token))) continue;
      const running = this.#lead(id, token).finally(() => this.#running.delete(id));
      this.#running.set(id, running);
    }
  }

  async close(): Promise<void> {
    this.#open = false;
    await Promise.allSettled(this.#running.values());
  }

  /** Does steps of one part until none is due. */
  async #lead(id: string, token: string): Promise<void> {
    const { store, clock, logger } = this.parts;
    const lease = new AbortController();
    const renew = setInterval(() => {
      store.renew(id, token).then(
        (holds) => holds || lease.abort(),
        () => {},
      );
    }, RENEW_EVERY_MS);
    try {
      while (this.#open && !lease.signal.aborted) {
        const handed = await store.find(id);
        if (!handed) return await store.remove(id);
        if (!(await store.hasBatch(handed.part.batch))) return await this.#abandon(handed);
        const { status } = handed.state;
        if (!isWorkers(status)) {
          // The api has the next step. Its change must not be put off by this one.
          await store.change(id, status, {}, clock.now() + this.#later(MOST_WAITS));
          return;
        }
        const { dueInMs, ...change } = await this.#stepOrFail(handed, token, lease.signal);
        if (!(await store.step(id, token, change, clock.now() + dueInMs))) return;
        if (dueInMs > 0) return;
      }
    } catch (error) {
      if (!isRedisAway(error)) logger.warn({ part: id, error: String(error) }, 'a step of a batch failed');
    } finally {
      clearInterval(renew);
      await store.release(id, token).catch(() => {});
    }
  }

  async #stepOrFail(handed: HandedBatch, token: string, lease: AbortSignal): Promise<StepEnd> {
    const { logger, metrics } = this.parts;
    const { part, state } = handed;
    const { provider } = part.entry;
    try {
      const end = await this.#step(handed, token, lease);
      metrics.batchStep(provider, 'ok');
      return { failures: 0, ...end };
    } catch (error) {
      if (isRedisAway(error)) throw error;
      logger.warn(
        { provider, part: part.id, batch: part.batch, status: state.status, error: String(error) },
        'the batch API of a provider failed',
      );
      const refused = error instanceof BatchRefused && isFinal(error.status);
      const isOut = state.status === 'waiting' || state.status === 'creating';
      if (isOut && (refused || state.failures + 1 >= MOST_FAILURES)) {
        metrics.batchStep(provider, 'refused');
        const why = error instanceof BatchRefused ? error.message : 'its batch API could not be reached';
        return {
          status: 'refused',
          reason: `${provider} did not take the lines: ${why}`,
          dueInMs: this.#later(0),
        };
      }
      metrics.batchStep(provider, 'failed');
      return { failures: state.failures + 1, dueInMs: this.#later(state.failures) };
    }
  }

  async #step(handed: HandedBatch, token: string, lease: AbortSignal): Promise<StepEnd> {
    switch (handed.state.status) {
      case 'waiting':
        return this.#handOver(handed, token);
      case 'creating':
        return this.#lookFor(handed, token);
      case 'at_provider':
        return this.#poll(handed);
      case 'merging':
        return this.#merge(handed, lease);
      default:
        throw new Error(`a part that is ${handed.state.status} has no step here`);
    }
  }

  async #handOver({ part, state }: HandedBatch, token: string): Promise<StepEnd> {
    if (state.isCancelled) return { status: 'ended', dueInMs: this.#later(0) };
    const upstream = this.#upstreamOf(part.entry.provider);
    const client = new BatchClient(upstream.own);
    const lines = await this.#translate({ part, state }, upstream.own, client);
    if (lines.length === 0) return { status: 'ended', dueInMs: this.#later(0) };
    const inputFile = await client.upload(lines);
    return this.#create({ part, state: { ...state, inputFile, key: upstream.key } }, token, client, lines);
  }

  /** The record says that the call is sent before it is sent. So a worker that dies is not followed by a second batch. */
  async #create(
    { part, state: { inputFile, key } }: HandedBatch,
    token: string,
    client: BatchClient,
    lines: readonly string[],
  ): Promise<StepEnd> {
    const { store, clock, metrics } = this.parts;
    const now = clock.now();
    const sent = { status: 'creating', inputFile, key, creatingAt: now } as const;
    if (!(await store.step(part.id, token, sent, now + this.#later(0)))) throw new Error('the lease is lost');
    const { id } = await client.create(part.id, inputFile, lines);
    metrics.batchLines(part.entry.provider, 'handed_over', lines.length);
    return this.#taken(part.id, [id], true);
  }

  /** The provider has the lines, so Redis needs them no longer. */
  async #taken(id: string, candidates: string[], isCertain: boolean): Promise<StepEnd> {
    if (isCertain) await this.parts.store.dropLines(id);
    return {
      status: 'at_provider',
      candidates,
      isCertain,
      since: this.parts.clock.now(),
      polls: 0,
      dueInMs: this.#later(0),
    };
  }

  /** Nobody knows whether the call that creates the batch was carried out. The provider's list of batches says it. */
  async #lookFor(handed: HandedBatch, token: string): Promise<StepEnd> {
    const { part, state } = handed;
    const { clock } = this.parts;
    // The call of a worker that died may still be on its way.
    const waitMs = state.creatingAt + this.#later(0) - clock.now();
    if (waitMs > 0) return { dueInMs: waitMs };
    const { own } = this.#upstreamOf(part.entry.provider, state.key);
    const client = new BatchClient(own);
    const listed = await client.listSince(part.created - CLOCKS_DIFFER_MS);
    const ours = listed.filter(({ mark }) => mark === part.id);
    if (ours[0]) return this.#taken(part.id, [ours[0].id], true);
    const lines = await this.#translate(handed, own, client);
    const similar = listed.filter(({ mark, total }) => mark === undefined && total === lines.length);
    const hasMarks = own.config.kind === 'openai';
    const unknown = hasMarks ? [] : await this.#withoutOthers(similar);
    if (unknown.length > 0)
      return this.#taken(
        part.id,
        unknown.map(({ id }) => id),
        false,
      );
    if (state.isCancelled) return { status: 'ended', dueInMs: this.#later(0) };
    return this.#create(handed, token, client, lines);
  }

  /** Without those that other parts have for certain. */
  async #withoutOthers(similar: readonly BatchNews[]): Promise<BatchNews[]> {
    const known = new Set(await this.parts.store.certainIds());
    return similar.filter(({ id }) => !known.has(id));
  }

  async #poll({ part, state }: HandedBatch): Promise<StepEnd> {
    const { own } = this.#upstreamOf(part.entry.provider, state.key);
    const client = new BatchClient(own);
    const [id = ''] = state.candidates;
    if (state.isCancelled && !state.cancelSent) {
      // A batch that may be another's is not cancelled.
      if (state.isCertain) await client.cancel(id).catch(ignoreRefusal);
      return { cancelSent: true, dueInMs: AT_ONCE };
    }
    const news = await client.get(id);
    if (news.status === 'failed')
      return {
        status: 'refused',
        reason: `${part.entry.provider} did not take the lines: its batch has failed${inWords(news.code)}`,
        dueInMs: this.#later(0),
      };
    const { ended } = news;
    if (news.status === 'ended') return { status: 'ended', ended, dueInMs: this.#later(0) };
    return { ended, polls: state.polls + 1, dueInMs: this.#later(state.isCancelled ? 0 : state.polls) };
  }

  async #merge(handed: HandedBatch, lease: AbortSignal): Promise<StepEnd> {
    const { part, state } = handed;
    const [id, ...others] = state.candidates;
    if (id === undefined) return { status: 'merged', dueInMs: this.#later(0) };
    const { own } = this.#upstreamOf(part.entry.provider, state.key);
    const client = new BatchClient(own);
    const news = await client.get(id);
    if (news.status === 'under_way') return { dueInMs: this.#later(0) };
    if (!state.isCertain) {
      // Only its results tell whose it is. No line of ours is settled yet, so all of them are recorded.
      const isOurs = await this.#hasLineOf(part, client.results(news));
      return isOurs ? { isCertain: true, dueInMs: AT_ONCE } : { candidates: others, dueInMs: AT_ONCE };
    }
    const isReady = await this.parts.results.merge(handed, own, client.results(news), id, lease);
    if (!isReady) return { dueInMs: LOOK_FOR_STEPS_EVERY_MS };
    return { status: 'merged', dueInMs: this.#later(0) };
  }

  async #hasLineOf(part: HandedPart, results: AsyncIterable<BatchResult>): Promise<boolean> {
    for await (const { id } of results) return this.parts.store.isLineOf(part, id);
    return false;
  }

  /** The workspace was deleted, and the batch with it. */
  async #abandon({ part, state }: HandedBatch): Promise<void> {
    const [id] = state.candidates;
    if (id !== undefined && state.isCertain && state.status === 'at_provider') {
      const { own } = this.#upstreamOf(part.entry.provider, state.key);
      await new BatchClient(own).cancel(id).catch(() => {});
    }
    await this.parts.store.remove(part.id);
  }

  /** Lines that the provider's format cannot express are left out. They run one by one later, and get their error there. */
  async #translate({ part }: HandedBatch, own: Upstream, client: BatchClient): Promise<string[]> {
    const { store, payloads } = this.parts;
    const lines: string[] = [];
    for (let from = 0; from < part.lines; from += READ_AT_ONCE) {
      const waiting = await store.lines(part.id, from, READ_AT_ONCE);
      if (waiting.length === 0) throw new BatchRefused(400, 'lines_lost');
      for (const { requestId, request } of waiting) {
        const text = payloads.open(request, requestContext({ workspace: part.workspace, requestId }));
        try {
          const body = own.provider.buildRequest(parseRequest(text), part.entry);
          lines.push(client.line(requestId, own.endpoint.adapt(body, part.entry.model)));
        } catch (error) {
          if (!(error instanceof GatewayError)) throw error;
        }
      }
    }
    return lines;
  }

  /** Of several keys of a provider one makes the batch, and the same one has to ask for it. */
  #upstreamOf(provider: string, key = ''): { own: Upstream; key: string } {
    const upstream = this.parts.upstreams.get(provider);
    if (!upstream) throw new BatchRefused(404, 'provider_removed');
    const [first] = upstream.pool.keys();
    const name = key === '' ? (first ?? '') : key;
    if (name === '') return { own: upstream, key: '' };
    const own = upstream.pool.get(name);
    if (!own) throw new BatchRefused(401, 'key_removed');
    return { own, key: name };
  }

  #later(times: number): number {
    return Math.round(this.parts.pollMs() * Math.min(MOST_WAITS, 1.5 ** times));
  }
}

function isWorkers(status: PartStatus): boolean {
  return status !== 'ended' && status !== 'refused' && status !== 'merged';
}

/** Whether it is of no use to ask again soon. */
function isFinal(status: number): boolean {
  return status < 500 && status !== 408 && status !== 409;
}

/** A batch that has ended meanwhile cannot be cancelled. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof BatchRefused) || error.status >= 500 || error.status === 429) throw error;
}
