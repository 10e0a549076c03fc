/** One step of a part of a batch that is handed to a provider's own batch API (docs/adr/0025). */
import { GatewayError } from '@sluice/shared/errors';
import { type Payloads, requestContext } from '@sluice/shared/queue/payload';
import type {
  HandedBatch,
  HandedPart,
  PartState,
  ProviderBatches,
} from '@sluice/shared/queue/provider-batches';
import type { Clock } from '@sluice/shared/redis/clock';
import { BatchClient, BatchRefused, inWords } from '../calls/batch-client.js';
import type { Upstream } from '../calls/call-provider.js';
import type { Upstreams } from '../calls/upstreams.js';
import { type BatchNews, UnusableResponse } from '../providers/types.js';
import { parseRequest } from './parse-request.js';
import type { ProviderBatchResults } from './provider-batch-results.js';
import type { WorkerMetrics } from './worker-metrics.js';

/** A part that the provider could not take this often in a row is given back. */
export const MOST_FAILURES = 8;
const READ_AT_ONCE = 64;
/** The provider's clock may differ from ours. */
const CLOCKS_DIFFER_MS = 300_000;
const AT_ONCE = 0;
const SOON_MS = 500;

export interface ProviderBatchStepParts {
  store: ProviderBatches;
  results: ProviderBatchResults;
  upstreams: Upstreams;
  payloads: Payloads;
  clock: Clock;
  metrics: Pick<WorkerMetrics, 'batchLines'>;
  /** The wait before a step that was put off this often. */
  later(times: number): number;
}

/** What a step has changed, and in how many ms the next one is due. */
export type StepEnd = Partial<PartState> & { dueInMs: number };

/** The call that creates a batch was sent, and nobody knows whether it was carried out. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

/** The provider does not have the part, or nobody will ever know. The words are for people. */
export class GivenUp extends Error {
  override readonly name = 'GivenUp';
}

export class ProviderBatchStep {
  constructor(private readonly parts: ProviderBatchStepParts) {}

  /** `lease` is aborted when another worker may do the step. */
  async take(handed: HandedBatch, token: string, lease: AbortSignal): Promise<StepEnd> {
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
    if (state.isCancelled) return { status: 'ended', dueInMs: this.parts.later(0) };
    const upstream = this.#upstreamOf(part.entry.provider);
    const client = new BatchClient(upstream.own);
    const lines = await this.#translate({ part, state }, upstream.own, client);
    if (lines.length === 0) return { status: 'ended', dueInMs: this.parts.later(0) };
    const inputFile = await client.upload(lines);
    return this.#create({ part, state: { ...state, inputFile, key: upstream.key } }, token, client, lines);
  }

  /** The record says that the call is sent before it is sent. So a worker that dies is not followed by a second batch. */
  async #create(
    { part, state: { inputFile, key, isCancelled } }: HandedBatch,
    token: string,
    client: BatchClient,
    lines: readonly string[],
  ): Promise<StepEnd> {
    const { store, clock, metrics } = this.parts;
    const now = clock.now();
    const sent = { status: 'creating', inputFile, key, creatingAt: now } as const;
    if (!(await store.step(part.id, token, sent, now + this.parts.later(0), isCancelled)))
      throw new Error('the lease is lost');
    const { id } = await client.create(part.id, inputFile, lines).catch((error: unknown) => {
      throw error instanceof BatchRefused && error.isFinal ? error : new OutcomeUnknown(String(error));
    });
    metrics.batchLines(part.entry.provider, 'handed_over', lines.length);
    return { ...this.#taken([id], true), creatingAt: now };
  }

  #taken(candidates: string[], isCertain: boolean): StepEnd {
    return {
      status: 'at_provider',
      candidates,
      isCertain,
      since: this.parts.clock.now(),
      polls: 0,
      dueInMs: this.parts.later(0),
    };
  }

  /** Nobody knows whether the call that creates the batch was carried out. The provider's list of batches says it. */
  async #lookFor(handed: HandedBatch, token: string): Promise<StepEnd> {
    const { part, state } = handed;
    const { clock } = this.parts;
    // The call of a worker that died may still be on its way.
    const waitMs = state.creatingAt + this.parts.later(0) - clock.now();
    if (waitMs > 0) return { failures: state.failures, dueInMs: waitMs };
    const { own } = this.#upstreamOf(part.entry.provider, state.key);
    const client = new BatchClient(own);
    const listed = await client.listSince(part.created - CLOCKS_DIFFER_MS).catch((error: unknown) => {
      const hasNoList = error instanceof BatchRefused && (error.status === 404 || error.status === 405);
      throw hasNoList ? new GivenUp('it has no list of batches') : new OutcomeUnknown(String(error));
    });
    const ours = listed.filter(({ mark }) => mark === part.id);
    if (ours[0]) return this.#taken([ours[0].id], true);
    const lines = await this.#translate(handed, own, client);
    const similar = listed.filter(({ mark, total }) => mark === undefined && total === lines.length);
    const hasMarks = own.config.kind === 'openai';
    const unknown = hasMarks ? [] : await this.#withoutOthers(similar);
    if (unknown.length > 0)
      return this.#taken(
        unknown.map(({ id }) => id),
        false,
      );
    if (state.isCancelled) return { status: 'ended', dueInMs: this.parts.later(0) };
    if (state.failures >= MOST_FAILURES) throw new GivenUp('its batch API could not be reached');
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
    // It is recorded that the provider has the lines, so Redis needs them no longer.
    if (state.polls === 0 && state.isCertain) await this.parts.store.dropLines(part.id);
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
        dueInMs: this.parts.later(0),
      };
    const ended = Math.min(news.ended, part.lines);
    if (news.status === 'ended') return { status: 'ended', ended, dueInMs: this.parts.later(0) };
    return { ended, polls: state.polls + 1, dueInMs: this.parts.later(state.isCancelled ? 0 : state.polls) };
  }

  async #merge(handed: HandedBatch, lease: AbortSignal): Promise<StepEnd> {
    const { part, state } = handed;
    const [id, ...others] = state.candidates;
    if (id === undefined) return { status: 'merged', dueInMs: this.parts.later(0) };
    const { own } = this.#upstreamOf(part.entry.provider, state.key);
    const client = new BatchClient(own);
    const news = await client.get(id);
    if (news.status === 'under_way') return { dueInMs: this.parts.later(0) };
    if (!state.isCertain) {
      // Only its results tell whose it is. No line of ours is settled yet, so all of them are recorded.
      const isOurs = await this.#hasLineOf(part, client, news);
      return isOurs ? { isCertain: true, dueInMs: AT_ONCE } : { candidates: others, dueInMs: AT_ONCE };
    }
    const isReady = await this.parts.results.merge(handed, own, client.results(news), news, lease);
    if (!isReady) return { failures: state.failures, dueInMs: SOON_MS };
    return { status: 'merged', dueInMs: this.parts.later(0) };
  }

  async #hasLineOf(part: HandedPart, client: BatchClient, news: BatchNews): Promise<boolean> {
    for await (const { id } of client.results(news)) return this.parts.store.isLineOf(part, id);
    if (news.ended > 0) throw new UnusableResponse('results are missing');
    return false;
  }

  /**
   * The end of a step could not be recorded, because another worker has the part now. It may have made a batch of its own,
   * so one that this step has made is stopped. If it has made none yet, it finds this one.
   */
  async disown({ part }: HandedBatch, { creatingAt, candidates: [id] = [] }: StepEnd): Promise<void> {
    if (creatingAt === undefined || id === undefined) return;
    const now = (await this.parts.store.find(part.id))?.state;
    if (now?.candidates.includes(id) || (now?.status === 'creating' && now.creatingAt === creatingAt)) return;
    const { own } = this.#upstreamOf(part.entry.provider, now?.key);
    await new BatchClient(own).cancel(id);
  }

  /** The workspace was deleted, and the batch with it. */
  async abandon({ part, state }: HandedBatch): Promise<void> {
    const [id] = state.candidates;
    if (id !== undefined && state.isCertain && state.status === 'at_provider') {
      try {
        await new BatchClient(this.#upstreamOf(part.entry.provider, state.key).own).cancel(id);
      } catch {
        // The provider may be gone from the configuration as well. Nobody waits for the batch.
      }
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
}

/** A batch that has ended meanwhile cannot be cancelled. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof BatchRefused) || error.status >= 500 || error.status === 429) throw error;
}
