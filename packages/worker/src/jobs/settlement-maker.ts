/** Makes the settlement of a request in a worker: for an answer, an error or a hang-up. */

import type { TokenUsage } from '@sluice/shared/chat';
import { type ErrorInfo, reasonOf } from '@sluice/shared/errors';
import { writeExactly } from '@sluice/shared/json/exact';
import type { Logger } from '@sluice/shared/process/logger';
import { countCalls } from '@sluice/shared/queue/attempts';
import { type ChainEntry, type ChatJob, providerOf } from '@sluice/shared/queue/job';
import { answerContext, type Payloads, sealError } from '@sluice/shared/queue/payload';
import { failedLogEntry, type LoggedPlan, servedLogEntry } from '@sluice/shared/queue/request-log';
import type { SettleResult } from '@sluice/shared/queue/scripts';
import type { Settlement } from '@sluice/shared/queue/settle';
import type { OutputTally } from '@sluice/shared/queue/usual-output';
import type { Clock } from '@sluice/shared/redis/clock';
import { formatUsd } from '@sluice/shared/registry/price';
import type { PriceCalls } from '../calls/pricing.js';
import type { ReportedCost } from '../calls/reported-cost.js';
import type { Run } from '../calls/run.js';
import type { ParsedResponse } from '../providers/types.js';
import type { WorkerMetrics } from './worker-metrics.js';

export class LockLost extends Error {}

export interface SettlementMakerParts {
  payloads: Payloads;
  pricing: PriceCalls;
  clock: Clock;
  logger: Logger;
  metrics: Pick<WorkerMetrics, 'settled' | 'keptTogether' | 'refusedLate'>;
  /** Learns how long answers are. */
  outputs: Pick<OutputTally, 'count'>;
}

export interface ServedCall {
  entry: ChainEntry;
  /** The provider's price list. */
  prices: string;
  /** What the provider reports as the cost is booked. */
  isReported?: boolean;
  response: ParsedResponse;
  callMs: number;
  /** Set for a line in the provider's own batch: its share of the normal price. */
  batchFactor?: number;
}

export class SettlementMaker {
  constructor(private readonly parts: SettlementMakerParts) {}

  served(job: ChatJob, { entry, prices, isReported, response, callMs, batchFactor }: ServedCall): Settlement {
    const { usage, completion } = response;
    const latencyMs = Math.round(callMs);
    const { provider, model } = entry;
    const { pricing } = this.parts;
    const now = this.parts.clock.now();
    const { price, cost, costUsd, estimate, report } =
      batchFactor === undefined
        ? pricing.of(prices, model, response, now, isReported)
        : pricing.ofBatch(prices, model, response, now, batchFactor);
    if (estimate !== undefined) job = withEstimate(job, estimate);
    if (report) job = withReport(job, report);
    const booked = job.attempts.at(-1)?.estimate;
    const log = servedLogEntry(job, { provider, model, latencyMs, usage, cost, price }, now);
    if (log.plan) this.#planned(log.plan, job, prices, model, response);
    return {
      job,
      log,
      head: {
        queueMs: job.queueMs,
        attempts: countCalls(job.attempts),
        callMs,
        served: {
          ...{ provider, model, fallbackUsed: job.entry > 0, latencyMs },
          // A call whose bill nobody knows is booked with an estimate, and the caller sees what is booked.
          costUsd: booked === undefined ? costUsd : formatUsd(cost + booked),
          ...toAdapted(job.attempts.at(-1)?.adapted),
          ...(job.tokens && { took: tookOf(usage) }),
        },
      },
      body: this.parts.payloads.seal(
        response.write
          ? response.write(job.model)
          : writeExactly({
              id: `chatcmpl_${job.requestId}`,
              object: 'chat.completion',
              ...completion,
              model: job.model,
            }),
        answerContext(job),
      ),
    };
  }

  /** Adds which way a request with a deadline went, and what the way of any other would have cost. */
  #planned(plan: LoggedPlan, job: ChatJob, prices: string, model: string, response: ParsedResponse): void {
    const { via, tier } = job.attempts.at(-1) ?? {};
    plan.via = via ?? (tier === 'flex' ? tier : 'standard');
    const { usage, hasAudio } = response;
    const billed = hasAudio ? { usage, hasAudio } : { usage };
    const { price, cost } = this.parts.pricing.of(prices, model, billed, job.acceptedAt);
    if (price) plan.standardCost = cost;
  }

  failed(job: ChatJob, error: ErrorInfo): Settlement {
    const log = failedLogEntry(job, error.code, reasonOf(error), this.parts.clock.now());
    const sealed = sealError(this.parts.payloads, error, answerContext(job));
    const head = { queueMs: job.queueMs, attempts: countCalls(job.attempts), error: sealed };
    return { job, log, head };
  }

  /** The caller has hung up, so only the log is written. If another worker has the job, that worker settles it. */
  cancelled(job: ChatJob, run: Run): Settlement {
    if (run.signal.reason === 'lock_lost') throw new LockLost();
    const error = job.inBackground ? CANCELLED : HUNG_UP;
    const { reason } = error;
    const head = { queueMs: job.queueMs, attempts: countCalls(job.attempts), error };
    return { job, log: failedLogEntry(job, 'cancelled', reason, this.parts.clock.now()), head };
  }

  /** Logs and counts the result of a settlement. */
  recorded({ job, log, afterwards }: Settlement, result: SettleResult): void {
    if (result === 'settled') {
      this.parts.metrics.settled(log);
      if (job.learns !== undefined && log.served) this.parts.outputs.count(job, log.served.usage.output);
      if (job.prefix !== undefined) this.parts.metrics.keptTogether(log);
      afterwards?.();
      return;
    }
    this.parts.metrics.refusedLate(providerOf(job));
    this.parts.logger.warn({ requestId: job.requestId, result }, 'a late result was refused');
  }

  /** Redis refused a settlement. It is kept until Redis stores it, or says that another worker has ended the request. */
  refused({ job }: Settlement, error: unknown): void {
    const { requestId } = job;
    this.parts.logger.warn({ requestId, error: String(error) }, 'settling a result is tried again');
  }
}

const HUNG_UP = {
  code: 'service_unavailable',
  message: 'The caller hung up.',
  reason: 'caller_left',
} as const satisfies ErrorInfo;
/** Nobody waits for a request in the background. Its caller asks for it later. */
const CANCELLED = {
  code: 'conflict',
  message: 'The request was cancelled.',
  reason: 'cancelled',
} as const satisfies ErrorInfo;

function toAdapted(words: readonly string[] | undefined): { adapted?: string } {
  return words === undefined ? {} : { adapted: words.join('; ') };
}

/** Keeps both costs with the attempt that served. What is booked needs no estimate. */
function withReport(job: ChatJob, { reported, listed, isBooked }: ReportedCost): ChatJob {
  const attempts = job.attempts.slice();
  const last = attempts.pop();
  if (!last) return job;
  const { estimate, ...rest } = last;
  const kept = isBooked || estimate === undefined ? {} : { estimate };
  attempts.push({ ...rest, ...kept, reported, ...(listed === undefined ? {} : { listed }) });
  return { ...job, attempts };
}

/** Adds the estimate to the attempt that served. */
function withEstimate(job: ChatJob, estimate: number): ChatJob {
  const served = job.attempts.length - 1;
  return { ...job, attempts: job.attempts.map((each, i) => (i === served ? { ...each, estimate } : each)) };
}

function tookOf({ input, cachedInput, cacheWrite, cacheWrite1h, output }: TokenUsage): [number, number] {
  return [input + cachedInput + cacheWrite + cacheWrite1h, output];
}
