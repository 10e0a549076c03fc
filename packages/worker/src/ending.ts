/** How a job ends when its request ends with it: the answer, the error or the hang-up is settled. */

import type { ErrorInfo } from '@sluice/shared/errors';
import { writeExactly } from '@sluice/shared/json/exact';
import type { Logger } from '@sluice/shared/process/logger';
import { countCalls } from '@sluice/shared/queue/attempts';
import type { ChainEntry, ChatJob } from '@sluice/shared/queue/job';
import { answerContext, type Payloads, sealError } from '@sluice/shared/queue/payload';
import { failedLogEntry, servedLogEntry } from '@sluice/shared/queue/request-log';
import { providerOf, type Settlement, type Settlements } from '@sluice/shared/queue/settle';
import type { Clock } from '@sluice/shared/redis/clock';
import type { Pricing } from './pricing.js';
import type { ParsedResponse } from './providers/types.js';
import type { Run } from './runs.js';
import { whileRefused } from './while-refused.js';
import type { WorkerMetrics } from './worker-metrics.js';

export class LockLost extends Error {}

export interface EndingParts {
  settlements: Settlements;
  payloads: Payloads;
  pricing: Pricing;
  clock: Clock;
  logger: Logger;
  metrics: Pick<WorkerMetrics, 'settled' | 'refusedLate'>;
}

export interface Answer {
  entry: ChainEntry;
  /** Of the provider. */
  kind: string;
  response: ParsedResponse;
  callMs: number;
}

/** Each of its methods tells whether the job has ended with it: it is off its queue then. */
export class Ending {
  constructor(private readonly parts: EndingParts) {}

  served(job: ChatJob, { entry, kind, response, callMs }: Answer, run: Run): Promise<boolean> {
    const { usage, serviceTier, completion } = response;
    const latencyMs = Math.round(callMs);
    const { provider, model } = entry;
    const { price, cost, costUsd, estimate } = this.parts.pricing.of(kind, model, usage, serviceTier);
    if (estimate !== undefined) job = withEstimate(job, estimate);
    const settlement: Settlement = {
      job,
      log: servedLogEntry(job, { provider, model, latencyMs, usage, cost, price }, this.parts.clock.now()),
      head: {
        queueMs: job.queueMs,
        attempts: countCalls(job.attempts),
        callMs,
        served: { provider, model, fallbackUsed: job.entry > 0, latencyMs, costUsd },
      },
      body: this.parts.payloads.seal(
        writeExactly({
          id: `chatcmpl_${job.requestId}`,
          object: 'chat.completion',
          ...completion,
          model: job.model,
        }),
        answerContext(job),
      ),
    };
    return this.#settle(settlement, run);
  }

  failed(job: ChatJob, error: ErrorInfo, run: Run): Promise<boolean> {
    const log = failedLogEntry(job, error.code, this.parts.clock.now());
    const sealed = sealError(this.parts.payloads, error, answerContext(job));
    const head = { queueMs: job.queueMs, attempts: countCalls(job.attempts), error: sealed };
    return this.#settle({ job, log, head }, run);
  }

  /** Nobody is told; the log is. When another worker has the job, it is that worker's to settle. */
  cancelled(job: ChatJob, run: Run): Promise<boolean> {
    if (run.signal.reason === 'lock_lost') throw new LockLost();
    const error: ErrorInfo = { code: 'service_unavailable', message: 'The caller hung up.' };
    const head = { queueMs: job.queueMs, attempts: countCalls(job.attempts), error };
    return this.#settle({ job, log: failedLogEntry(job, 'cancelled', this.parts.clock.now()), head }, run);
  }

  /**
   * What a provider answered is kept here until Redis has taken it, or says that another worker has ended the request: a
   * lock that ran out while Redis refused to write says neither.
   */
  async #settle(settlement: Settlement, run: Run): Promise<boolean> {
    const { settlements, logger } = this.parts;
    const { requestId } = settlement.job;
    const result = await whileRefused(
      () => settlements.settle(settlement, { as: 'worker', token: run.token }),
      (error) => logger.warn({ requestId, error: String(error) }, 'settling a result is tried again'),
    );
    if (result === 'settled') {
      this.parts.metrics.settled(settlement.log);
      return true;
    }
    this.parts.metrics.refusedLate(providerOf(settlement.job));
    this.parts.logger.warn({ requestId, result }, 'a late result was refused');
    return false;
  }
}

/** Of the attempt that served. */
function withEstimate(job: ChatJob, estimate: number): ChatJob {
  const served = job.attempts.length - 1;
  return { ...job, attempts: job.attempts.map((each, i) => (i === served ? { ...each, estimate } : each)) };
}
