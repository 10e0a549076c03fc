/**
 * Does the steps of batches that are handed to providers' own batch APIs (docs/adr/0025). Every worker looks for steps that
 * are due, and does those whose lease it gets. A step that fails is done again later, by any worker.
 */
import type { Logger } from '@sluice/shared/process/logger';
import {
  type HandedBatch,
  isGathered,
  type PartStatus,
  type ProviderBatches,
} from '@sluice/shared/queue/provider-batches';
import { isRedisAway } from '@sluice/shared/redis/away';
import { makeRequestId } from '@sluice/shared/request-id';
import { BatchRefused } from '../calls/batch-client.js';
import { GivenUp, NotNow, OutcomeUnknown, type StepEnd } from './provider-batch-creation.js';
import { ProviderBatchStep, type ProviderBatchStepParts } from './provider-batch-step.js';
import type { WorkerMetrics } from './worker-metrics.js';

/** Each may have some megabytes of lines in memory. */
const MOST_STEPS = 4;
/** Those that other workers are at are among them. */
const MOST_LOOKED_AT = 100;
const RENEW_EVERY_MS = 5_000;
/** The waits between polls grow by half up to this many times the first. */
const MOST_WAITS = 10;

export interface ProviderBatchParts extends Omit<ProviderBatchStepParts, 'later' | 'metrics'> {
  store: ProviderBatches;
  logger: Logger;
  metrics: Pick<WorkerMetrics, 'batchLines' | 'batchStep'>;
  pollMs(): number;
}

export class ProviderBatchSteps {
  readonly #running = new Map<string, Promise<void>>();
  readonly #step: ProviderBatchStep;
  #open = true;

  constructor(private readonly parts: ProviderBatchParts) {
    this.#step = new ProviderBatchStep({ ...parts, later: (times) => this.#later(times) });
  }

  /** Begins the steps that are due. It does not wait for them. */
  async look(): Promise<void> {
    if (!this.#open || this.#running.size >= MOST_STEPS) return;
    const { store, clock } = this.parts;
    for (const id of await store.due(clock.now(), MOST_LOOKED_AT)) {
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
        const { status } = handed.state;
        if (isGathered(handed.part)) {
          if (!isWorkers(status)) return await this.#step.giveBack(handed);
        } else if (!(await store.hasBatch(handed.part.batch))) return await this.#step.abandon(handed);
        if (!isWorkers(status)) {
          // The api has the next step. Its change must not be put off by this one.
          await store.change(id, status, {}, clock.now() + this.#later(MOST_WAITS));
          return;
        }
        const end = await this.#stepOrFail(handed, token, lease.signal);
        const { dueInMs, ...change } = end;
        const { isCancelled } = handed.state;
        if (!(await store.step(id, token, change, clock.now() + dueInMs, isCancelled)))
          return await this.#step.disown(handed, end);
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
      const end = await this.#step.take(handed, token, lease);
      metrics.batchStep(provider, 'ok');
      return { failures: 0, ...end };
    } catch (error) {
      if (isRedisAway(error)) throw error;
      logger.warn(
        { provider, part: part.id, batch: part.batch, status: state.status, error: String(error) },
        'the batch API of a provider failed',
      );
      if (this.#isGivenBack(handed, error)) {
        metrics.batchStep(provider, 'refused');
        const isKnown = error instanceof BatchRefused || error instanceof GivenUp || error instanceof NotNow;
        const why = isKnown ? error.message : 'its batch API could not be reached';
        return {
          status: 'refused',
          reason: `${provider} did not take the lines: ${why}`,
          dueInMs: this.#later(0),
        };
      }
      metrics.batchStep(provider, 'failed');
      const change = error instanceof OutcomeUnknown || error instanceof NotNow ? error.change : {};
      const dueInMs = await this.#step.inTime(part, this.#later(state.failures));
      return { ...change, failures: state.failures + 1, dueInMs };
    }
  }

  /** Whether the provider does not take the part, and certainly does not have it. */
  #isGivenBack(handed: HandedBatch, error: unknown): boolean {
    const { status } = handed.state;
    if (status !== 'waiting' && status !== 'creating') return false;
    if (error instanceof OutcomeUnknown) return false;
    if (error instanceof GivenUp || (error instanceof BatchRefused && error.isFinal)) return true;
    return status === 'waiting' && this.#step.creation.hasTriedEnough(handed);
  }

  #later(times: number): number {
    return Math.round(this.parts.pollMs() * Math.min(MOST_WAITS, 1.5 ** times));
  }
}

function isWorkers(status: PartStatus): boolean {
  return status !== 'ended' && status !== 'refused' && status !== 'merged';
}
