/** Makes a provider's own batch of a part, once, whatever dies or fails meanwhile (docs/adr/0025). */
import { requestOf } from '@sluice/shared/chat';
import { GatewayError } from '@sluice/shared/errors';
import { type Payloads, requestContext } from '@sluice/shared/queue/payload';
import {
  type HandedBatch,
  type HandedPart,
  isGathered,
  type PartState,
  type ProviderBatches,
} from '@sluice/shared/queue/provider-batches';
import type { Clock } from '@sluice/shared/redis/clock';
import { embeddingFactsOf, factsOf } from '@sluice/shared/registry/model-facts';
import { BatchClient, BatchRefused, batchUpstreamOf, wasNotSent } from '../calls/batch-client.js';
import type { Upstream } from '../calls/call-provider.js';
import { fitRequest } from '../calls/fit-request.js';
import { goesByResponses } from '../calls/model-apis.js';
import type { Upstreams } from '../calls/upstreams.js';
import type { BatchNews } from '../providers/types.js';
import { parseRequest } from './parse-request.js';
import type { WorkerMetrics } from './worker-metrics.js';

/** A part that the provider could not take is given back after so many failures, if it is so many polls old. */
const FEWEST_FAILURES = 8;
const FEWEST_POLLS = 100;
/** So long after its time limit, no call that creates a batch is under way, neither in a worker nor at the provider. */
const LATE_MS = 30_000;
const READ_AT_ONCE = 64;
/** The provider's clock may differ from ours. */
const CLOCKS_DIFFER_MS = 300_000;

export interface ProviderBatchCreationParts {
  store: ProviderBatches;
  upstreams: Upstreams;
  payloads: Payloads;
  clock: Clock;
  metrics: Pick<WorkerMetrics, 'batchLines'>;
  /** The wait before a step that was put off this often. */
  later(times: number): number;
}

/** The changes of a step, and in how many ms the next one is due. */
export type StepEnd = Partial<PartState> & { dueInMs: number };

/** The call that creates a batch was sent, and nobody knows whether it was carried out. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
  constructor(
    message: string,
    /** The news about the part that the failure brings. */
    readonly change: Partial<PartState> = {},
  ) {
    super(message);
  }
}

/** The provider has not made the batch now, and may make it later. */
export class NotNow extends Error {
  override readonly name = 'NotNow';
  constructor(
    message: string,
    readonly change: Partial<PartState>,
  ) {
    super(message);
  }
}

/** The provider does not have the part, or nobody will ever know. The words are for people. */
export class GivenUp extends Error {
  override readonly name = 'GivenUp';
}

export class ProviderBatchCreation {
  constructor(private readonly parts: ProviderBatchCreationParts) {}

  async handOver({ part, state }: HandedBatch, token: string): Promise<StepEnd> {
    if (state.isCancelled) return { status: 'ended', dueInMs: this.parts.later(0) };
    const upstream = batchUpstreamOf(this.parts.upstreams, part.entry.provider, state.key);
    const client = new BatchClient(upstream.own, part.endpoint);
    const lines = await this.#translate({ part, state }, upstream.own, client);
    // A batch of one would only take longer.
    const fewest = isGathered(part) ? 2 : 1;
    if (lines.length < fewest) return { status: 'ended', dueInMs: this.parts.later(0) };
    const inputFile = state.inputFile === '' ? await client.upload(lines) : state.inputFile;
    return this.#create({ part, state: { ...state, inputFile, key: upstream.key } }, token, client, lines);
  }

  /** The record says that the call is sent before it is sent. So a worker that dies is not followed by a second batch. */
  async #create(
    { part, state: { status, inputFile, key, isCancelled } }: HandedBatch,
    token: string,
    client: BatchClient,
    lines: readonly string[],
  ): Promise<StepEnd> {
    const { store, clock, metrics } = this.parts;
    const now = clock.now();
    // A call before this one may have been carried out after the provider's list was read.
    const mayHaveTwin = status === 'creating';
    const sent: Partial<PartState> = {
      status: 'creating',
      inputFile,
      key,
      creatingAt: now,
      isAnswered: false,
      mayHaveTwin,
    };
    if (!(await store.step(part.id, token, sent, now + this.parts.later(0), isCancelled)))
      throw new Error('the lease is lost');
    const { id } = await client.create(part.id, inputFile, lines).catch((error: unknown) => {
      const isRefusal = error instanceof BatchRefused;
      if (isRefusal && error.isFinal) throw error;
      // Nobody knows whether an earlier call was carried out, so the part is not as before.
      if ((isRefusal && error.isBusy) || wasNotSent(error))
        throw new NotNow(isRefusal ? error.message : 'its batch API could not be reached', {
          isAnswered: true,
          ...(mayHaveTwin ? {} : { status: 'waiting' }),
        });
      throw new OutcomeUnknown(String(error), { isAnswered: isRefusal && !error.isFromBetween });
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
  async lookFor(handed: HandedBatch, token: string): Promise<StepEnd> {
    const { part, state } = handed;
    const { clock } = this.parts;
    // The call of a worker that died may still be on its way.
    const waitMs = state.creatingAt + this.parts.later(0) - clock.now();
    if (waitMs > 0) return { failures: state.failures, dueInMs: waitMs };
    const { own } = batchUpstreamOf(this.parts.upstreams, part.entry.provider, state.key);
    const client = new BatchClient(own, part.endpoint);
    const listed = await client.listSince(part.created - CLOCKS_DIFFER_MS).catch((error: unknown) => {
      const hasNoList = error instanceof BatchRefused && (error.status === 404 || error.status === 405);
      throw hasNoList ? new GivenUp('it has no list of batches') : new OutcomeUnknown(String(error));
    });
    const ours = listed.filter(({ mark }) => mark === part.id);
    const mayHaveTwin = state.mayHaveTwin || ours.length > 1;
    if (ours[0]) return { ...this.#taken([ours[0].id], true), mayHaveTwin };
    const lines = await this.#translate(handed, own, client);
    const similar = listed.filter(({ mark, total }) => mark === undefined && total === lines.length);
    const hasMarks = own.config.kind === 'openai';
    const unknown = hasMarks ? [] : await this.#withoutOthers(similar);
    if (unknown.length > 0)
      return this.#taken(
        unknown.map(({ id }) => id),
        false,
      );
    // The call may still be carried out, and then the list says it.
    const longestMs = client.createTimeoutMs + LATE_MS;
    const openMs = state.isAnswered ? 0 : state.creatingAt + longestMs - clock.now();
    if (openMs > 0) return { failures: state.failures, dueInMs: Math.min(openMs, this.parts.later(0)) };
    if (state.isCancelled) return { status: 'ended', dueInMs: this.parts.later(0) };
    if (this.hasTriedEnough(handed)) throw new GivenUp('its batch API could not be reached');
    return this.#create(handed, token, client, lines);
  }

  /** Whether lines that the provider could not take so far run one by one instead. */
  hasTriedEnough({ part, state }: HandedBatch): boolean {
    const { clock, later } = this.parts;
    return state.failures + 1 >= FEWEST_FAILURES && clock.now() >= part.created + FEWEST_POLLS * later(0);
  }

  /** Without those that other parts have for certain. */
  async #withoutOthers(similar: readonly BatchNews[]): Promise<BatchNews[]> {
    const known = new Set(await this.parts.store.certainIds());
    return similar.filter(({ id }) => !known.has(id));
  }

  /** A batch with our mark that a worker's call made after it was given up has the same lines. */
  async stopTwins(part: HandedPart, client: BatchClient, own: string): Promise<void> {
    for (const { id, mark, status } of await client.listSince(part.created - CLOCKS_DIFFER_MS))
      if (mark === part.id && id !== own && status === 'under_way') await client.stop(id);
  }

  /** Lines that the provider's format cannot express, or the model does not take, are left out. They run one by one later, and get their error there. */
  async #translate({ part }: HandedBatch, own: Upstream, client: BatchClient): Promise<string[]> {
    const { store, payloads } = this.parts;
    const facts = part.endpoint ? embeddingFactsOf : factsOf;
    const { provider, endpoint } = (part.endpoint && own.embeddings) ?? own;
    const lines: string[] = [];
    for (let from = 0; from < part.lines; from += READ_AT_ONCE) {
      const waiting = await store.lines(part.id, from, READ_AT_ONCE);
      if (waiting.length === 0) throw new BatchRefused(400, 'lines_lost');
      const adapted: Record<string, string[]> = {};
      for (const { requestId, request } of waiting) {
        const text = payloads.open(request, requestContext({ workspace: part.workspace, requestId }));
        try {
          const request = requestOf(part, parseRequest(text));
          const fitted = fitRequest(request, part.entry, facts(own.config, part.entry.model));
          // A batch has one endpoint, which is not that of responses.
          if (fitted?.refused || (!part.endpoint && goesByResponses(own, part.entry, request))) continue;
          const body = provider.buildRequest(fitted?.request ?? request, part.entry);
          lines.push(client.line(requestId, endpoint.adapt(body, part.entry.model)));
          if (fitted && fitted.adapted.length > 0) adapted[requestId] = fitted.adapted;
        } catch (error) {
          if (!(error instanceof GatewayError)) throw error;
        }
      }
      await store.noteAdapted(part.id, adapted);
    }
    return lines;
  }
}
