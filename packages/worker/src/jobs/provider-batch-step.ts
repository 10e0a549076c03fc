/** One step of a part of a batch that is handed to a provider's own batch API (docs/adr/0025). */
import { requestOf } from '@sluice/shared/chat';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { openRequest } from '@sluice/shared/queue/payload';
import { type HandedBatch, type HandedPart, isGathered } from '@sluice/shared/queue/provider-batches';
import { isRedisAway } from '@sluice/shared/redis/away';
import type { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import { BatchClient, batchUpstreamOf, inWords } from '../calls/batch-client.js';
import { type BatchNews, UnusableResponse } from '../providers/types.js';
import { parseRequest } from './parse-request.js';
import {
  ProviderBatchCreation,
  type ProviderBatchCreationParts,
  type StepEnd,
} from './provider-batch-creation.js';
import type { ProviderBatchResults } from './provider-batch-results.js';

const AT_ONCE = 0;
const TIME_IS_OVER = 'its time is over';
const SOON_MS = 500;
/** Before the first latest safe start of single requests the provider is told to stop, so that it can end what it has begun. */
const STOP_BEFORE_MS = 15 * 60_000;

/** They are called at the standard tier, and what the provider bills for them is an estimate. */
function overdue(): StepEnd {
  return { status: 'refused', reason: TIME_IS_OVER, dueInMs: AT_ONCE };
}

export interface ProviderBatchStepParts extends ProviderBatchCreationParts {
  queue: Pick<ChatQueue, 'awayIn' | 'comeBack'>;
  estimate: Pick<CostEstimate, 'ofCall'>;
  results: ProviderBatchResults;
}

export class ProviderBatchStep {
  readonly creation: ProviderBatchCreation;

  constructor(private readonly parts: ProviderBatchStepParts) {
    this.creation = new ProviderBatchCreation(parts);
  }

  /** `lease` is aborted when another worker may do the step. */
  async take(handed: HandedBatch, token: string, lease: AbortSignal): Promise<StepEnd> {
    const { part, state } = handed;
    const isBefore = state.status === 'waiting' || state.status === 'creating';
    if (isBefore && this.#leftMs(part) <= 0) return overdue();
    try {
      const end = await this.#next(handed, token, lease);
      return { ...end, dueInMs: this.inTime(part, end.dueInMs) };
    } catch (error) {
      // A batch API that does not answer must not keep them.
      if (this.#leftMs(part) <= 0 && !isRedisAway(error)) return overdue();
      throw error;
    }
  }

  /** In how many ms the next step of a part is due, so that single requests come back in time. */
  inTime(part: HandedPart, dueInMs: number): number {
    const leftMs = this.#leftMs(part);
    const nextMs = leftMs > STOP_BEFORE_MS ? leftMs - STOP_BEFORE_MS : leftMs;
    return Math.min(dueInMs, Math.max(nextMs, SOON_MS));
  }

  #next(handed: HandedBatch, token: string, lease: AbortSignal): Promise<StepEnd> {
    switch (handed.state.status) {
      case 'waiting':
        return this.creation.handOver(handed, token);
      case 'creating':
        return this.creation.lookFor(handed, token);
      case 'at_provider':
        return this.#poll(handed);
      case 'merging':
        return this.#merge(handed, lease);
      default:
        throw new Error(`a part that is ${handed.state.status} has no step here`);
    }
  }

  /** Until the first latest safe start of single requests. */
  #leftMs({ urgentAt }: HandedPart): number {
    return urgentAt === undefined ? Number.POSITIVE_INFINITY : urgentAt - this.parts.clock.now();
  }

  async #poll({ part, state }: HandedBatch): Promise<StepEnd> {
    const { own } = batchUpstreamOf(this.parts.upstreams, part.entry.provider, state.key);
    const client = new BatchClient(own, part.endpoint);
    const [id = ''] = state.candidates;
    // It is recorded that the provider has the lines, so Redis needs them no longer.
    if (state.polls === 0 && state.isCertain) await this.parts.store.dropLines(part.id);
    if (state.isCancelled && !state.cancelSent) {
      // A batch that may be another's is not cancelled.
      if (state.isCertain) await client.stop(id);
      return { cancelSent: true, dueInMs: AT_ONCE };
    }
    if (state.mayHaveTwin && state.isCertain) await this.creation.stopTwins(part, client, id);
    const news = await client.get(id);
    if (news.status === 'failed')
      return {
        status: 'refused',
        reason: `${part.entry.provider} did not take the lines: its batch has failed${inWords(news.code)}`,
        dueInMs: this.parts.later(0),
      };
    const ended = Math.min(news.ended, part.lines);
    // Nobody has to record single requests before their answers are read.
    if (news.status === 'ended' && isGathered(part)) return { status: 'merging', ended, dueInMs: AT_ONCE };
    if (news.status === 'ended') return { status: 'ended', ended, dueInMs: this.parts.later(0) };
    const leftMs = this.#leftMs(part);
    if (leftMs <= 0) return overdue();
    if (leftMs <= STOP_BEFORE_MS && !state.isCancelled) return { isCancelled: true, dueInMs: AT_ONCE };

    return { ended, polls: state.polls + 1, dueInMs: this.parts.later(state.isCancelled ? 0 : state.polls) };
  }

  async #merge(handed: HandedBatch, lease: AbortSignal): Promise<StepEnd> {
    const { part, state } = handed;
    const [id, ...others] = state.candidates;
    if (id === undefined) return { status: 'merged', dueInMs: this.parts.later(0) };
    const { own } = batchUpstreamOf(this.parts.upstreams, part.entry.provider, state.key);
    const client = new BatchClient(own, part.endpoint);
    const news = await client.get(id);
    if (news.status === 'under_way') return { dueInMs: this.parts.later(0) };
    if (!state.isCertain) {
      // Only its results tell whose it is. No line of ours is settled yet, so all of them are recorded.
      const isOurs = await this.#hasLineOf(part, client, news);
      return isOurs ? { isCertain: true, dueInMs: AT_ONCE } : { candidates: others, dueInMs: AT_ONCE };
    }
    const isReady = await this.parts.results.merge(
      handed,
      (part.endpoint && own.embeddings) ?? own,
      client.results(news),
      news,
      lease,
    );
    if (!isReady) return { failures: state.failures, dueInMs: SOON_MS };
    return { status: 'merged', dueInMs: this.parts.later(0) };
  }

  async #hasLineOf(part: HandedPart, client: BatchClient, news: BatchNews): Promise<boolean> {
    const isOurs = async (id: string) =>
      isGathered(part)
        ? (await this.parts.queue.awayIn(part, [id])).length > 0
        : this.parts.store.isLineOf(part, id);
    for await (const { id } of client.results(news)) return isOurs(id);
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
    const { own } = batchUpstreamOf(this.parts.upstreams, part.entry.provider, now?.key);
    await new BatchClient(own).cancel(id);
  }

  /** Single requests that the provider has not answered wait in their queue again. */
  async giveBack({ part, state }: HandedBatch): Promise<void> {
    const { queue, store } = this.parts;
    const { provider, model } = part.entry;
    // The provider may have them, and answer them later.
    const mayBeBilled = state.status === 'refused' && state.creatingAt > 0 && state.reason === TIME_IS_OVER;
    for (const job of await queue.awayIn(part)) {
      if (job.plan) job.plan.withoutBatch = true;
      if (mayBeBilled) {
        const ends = { from: part.created, until: job.deadline };
        const request = requestOf(job, parseRequest(openRequest(this.parts.payloads, job), job.messagesAt));
        const estimate = this.parts.estimate.ofCall(request, part.entry, job.budget, ends);
        job.attempts.push({ provider, model, outcome: 'unknown', via: 'provider_batch', estimate });
      }
      await queue.comeBack(job, part.id);
    }
    await store.remove(part.id);
  }

  /** The workspace was deleted, and the batch with it. */
  async abandon({ part, state }: HandedBatch): Promise<void> {
    const [id] = state.candidates;
    if (id !== undefined && state.isCertain && state.status === 'at_provider') {
      try {
        await new BatchClient(
          batchUpstreamOf(this.parts.upstreams, part.entry.provider, state.key).own,
        ).cancel(id);
      } catch {
        // The provider may be gone from the configuration as well. Nobody waits for the batch.
      }
    }
    await this.parts.store.remove(part.id);
  }
}
