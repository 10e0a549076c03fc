/** One step of a part of a batch that is handed to a provider's own batch API (docs/adr/0025). */
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { BATCH_STOPS_BEFORE_MS } from '@sluice/shared/queue/plan';
import {
  type HandedBatch,
  type HandedPart,
  isGathered,
  type PartWaits,
} from '@sluice/shared/queue/provider-batches';
import { isRedisAway } from '@sluice/shared/redis/away';
import { BatchClient, batchUpstreamOf, inWords } from '../calls/batch-client.js';
import { type BatchNews, UnusableResponse } from '../providers/types.js';
import type { LeaveBatch } from './leave-batch.js';
import {
  ProviderBatchCreation,
  type ProviderBatchCreationParts,
  type StepEnd,
} from './provider-batch-creation.js';
import type { ProviderBatchResults } from './provider-batch-results.js';

const AT_ONCE = 0;
const TIME_IS_OVER = 'its time is over';
const SOON_MS = 500;
/** A step of a batch API that answers takes less. Requests that are due then wait for the answers that it may bring. */
const LET_GO_EVERY_MS = 5_000;
/** After this time a provider has ended its batch, and soon after it the results are there. */
const LONGEST_BATCH_MS = 24 * 3_600_000;
const LATEST_RESULTS_MS = 25 * 3_600_000;

function overdue(): StepEnd {
  return { status: 'refused', reason: TIME_IS_OVER, dueInMs: AT_ONCE };
}

function cancelled({ part, state }: HandedBatch): HandedBatch {
  return { part, state: { ...state, isCancelled: true } };
}

export interface ProviderBatchStepParts extends ProviderBatchCreationParts {
  queue: Pick<ChatQueue, 'awayIn' | 'comeBack' | 'waitsIn'>;
  leaveBatch: LeaveBatch;
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
    if (!isGathered(part)) return this.#next(handed, token, lease);
    const waits = await this.#waitsIn(part);
    if (!waits) return this.#stop(handed, token, lease);
    // The provider has none of them. A batch that it would be told to stop at once is of no use.
    if (state.status === 'waiting' && (waits.due.length > 0 || this.#isEnding(waits))) return overdue();
    // A batch API may be silent for minutes. Nobody waits for it beyond a latest safe start.
    const leaving = setInterval(() => void this.#letGo(handed).catch(() => {}), LET_GO_EVERY_MS);
    try {
      const end = await this.#next(handed, token, lease, this.#isEnding(waits));
      // Answers that are there come first.
      if (end.status === undefined && state.status !== 'merging') await this.#letGo(handed);
      return { ...end, dueInMs: await this.inTime(part, end.dueInMs, SOON_MS) };
    } catch (error) {
      // A batch API that does not answer must not keep them.
      if (!isRedisAway(error)) await this.#letGo(handed);
      throw error;
    } finally {
      clearInterval(leaving);
    }
  }

  /** In how many ms the next step of a part is due, so that single requests come back in time. `aloneMs`: when none is left. */
  async inTime(part: HandedPart, dueInMs: number, aloneMs = dueInMs): Promise<number> {
    if (!isGathered(part)) return dueInMs;
    const now = this.parts.clock.now();
    const { first = now + aloneMs, last = Number.POSITIVE_INFINITY } = (await this.#waitsIn(part)) ?? {};
    const stopAt = last - BATCH_STOPS_BEFORE_MS;
    const next = stopAt > now ? Math.min(first, stopAt) : first;
    return Math.min(dueInMs, Math.max(next - now, SOON_MS));
  }

  #waitsIn(part: HandedPart): Promise<PartWaits | undefined> {
    return this.parts.queue.waitsIn(part, this.parts.clock.now());
  }

  #isEnding({ last }: PartWaits): boolean {
    return last - this.parts.clock.now() <= BATCH_STOPS_BEFORE_MS;
  }

  /** `isEnding`: the provider is to end its batch, because no single request has time for it. */
  #next(handed: HandedBatch, token: string, lease: AbortSignal, isEnding = false): Promise<StepEnd> {
    switch (handed.state.status) {
      case 'waiting':
        return this.creation.handOver(handed, token);
      case 'creating':
        return this.creation.lookFor(isEnding ? cancelled(handed) : handed, token);
      case 'at_provider':
        return this.#poll(handed, isEnding);
      case 'merging':
        return this.#merge(handed, lease);
      default:
        throw new Error(`a part that is ${handed.state.status} has no step here`);
    }
  }

  async #poll({ part, state }: HandedBatch, isEnding: boolean): Promise<StepEnd> {
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
    if (news.status === 'ended' && isGathered(part))
      return { status: 'merging', ended, since: this.parts.clock.now(), dueInMs: AT_ONCE };
    if (news.status === 'ended') return { status: 'ended', ended, dueInMs: this.parts.later(0) };
    if (isEnding && !state.isCancelled) return { isCancelled: true, dueInMs: AT_ONCE };
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
    const { queue, store } = this.parts;
    const isOurs = async (id: string) => {
      if (!isGathered(part)) return store.isLineOf(part, id);
      return (await queue.awayIn(part, [id])).length > 0 || (await store.left(part.id)).includes(id);
    };
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
    const { clock, queue, store } = this.parts;
    for (const job of await queue.awayIn(part)) {
      // Those that have time are gathered anew when others had to go.
      if (job.plan && state.reason === TIME_IS_OVER && clock.now() < job.plan.urgentAt)
        delete job.plan.gatherUntil;
      else if (job.plan) job.plan.withoutBatch = true;
      await queue.comeBack(job, part.id);
    }
    await store.remove(part.id);
  }

  /**
   * Single requests whose latest safe start has come leave alone. One that has to stay waits until the batch answers it or gives
   * it back, or its time is over.
   */
  async #letGo({ part }: HandedBatch): Promise<void> {
    const { leaveBatch, queue } = this.parts;
    const due = (await this.#waitsIn(part))?.due ?? [];
    if (due.length === 0) return;
    for (const job of await queue.awayIn(part, due))
      await leaveBatch.leave(job, part, { outcome: 'unknown' });
  }

  /** No single request waits for the batch any more. Its results say what the lines of those that have left it have cost. */
  async #stop(handed: HandedBatch, token: string, lease: AbortSignal): Promise<StepEnd> {
    const { part, state } = handed;
    const [id] = state.candidates;
    const age = this.parts.clock.now() - part.created;
    const mayStop = age < LONGEST_BATCH_MS;
    if (state.status === 'creating' && mayStop) return this.creation.lookFor(cancelled(handed), token);
    const isCounted = age < LATEST_RESULTS_MS && (await this.parts.store.left(part.id)).length > 0;
    if (state.status === 'merging' && isCounted) return this.#merge(handed, lease);
    if (state.status === 'at_provider' && isCounted) {
      if (!state.isCancelled) return { isCancelled: true, dueInMs: AT_ONCE };
      return this.#poll(handed, true);
    }
    const isStopped = state.cancelSent || !state.isCertain;
    if (state.status === 'at_provider' && id !== undefined && !isStopped && mayStop) {
      const { own } = batchUpstreamOf(this.parts.upstreams, part.entry.provider, state.key);
      await new BatchClient(own).stop(id);
    }
    return { status: 'merged', dueInMs: AT_ONCE };
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
