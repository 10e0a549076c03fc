/**
 * Ends requests in the background that their callers cancel, and those whose time is over. Any api process may do it, because
 * the one that accepted the request may be gone. What a worker runs is stopped by the worker.
 */
import { GatewayError } from '@sluice/shared/errors';
import { countCalls } from '@sluice/shared/queue/attempts';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { Attempt, ChainEntry, ChatJob, ReplyHead } from '@sluice/shared/queue/job';
import { failedLogEntry, isMissed, type LogCode } from '@sluice/shared/queue/request-log';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ApiMetrics } from '../cell/metrics.js';
import {
  type BackgroundRequest,
  type BackgroundRequests,
  type DueRequest,
  GRACE_MS,
} from './background-requests.js';
import { timedOut } from './dispatcher.js';
import { type EstimateCall, withLost } from './lost-calls.js';

export const LOOK_FOR_ENDS_EVERY_MS = 2_000;
const MOST_AT_ONCE = 100;
/** The api process that accepted a request ends it at its deadline. The others leave it this time. */
const LEFT_FOR_MS = 2_000;
/** A worker was told to stop. It is told again after this time. */
const STOP_AGAIN_MS = 3_000;

export interface RequestEndsParts {
  background: BackgroundRequests;
  queue: Pick<ChatQueue, 'read' | 'settle' | 'tellAccepting'>;
  clock: Pick<Clock, 'now'>;
  estimateCall: EstimateCall;
  metrics: Pick<ApiMetrics, 'missedDeadline'>;
  /** Asks the worker that runs the request to stop. */
  stopRunning(requestId: string): Promise<void>;
}

export class RequestEnds {
  constructor(private readonly parts: RequestEndsParts) {}

  /** Ends a request that waits. A worker that runs it is told to stop, until it does. */
  async cancel(due: DueRequest, request: BackgroundRequest): Promise<void> {
    const { background, clock } = this.parts;
    await background.markCancelling(due, clock.now() + STOP_AGAIN_MS);
    await this.#cancel(due, request);
  }

  /** Takes up the requests whose time is over, and those whose cancelling is not done. */
  async look(): Promise<void> {
    const { background, clock } = this.parts;
    for (const due of await background.due(clock.now() - LEFT_FOR_MS, MOST_AT_ONCE)) {
      const request = await background.findDue(due);
      if (!request || request.head) await background.lookNoMore(due);
      else if (request.isCancelling) await this.#cancel(due, request);
      else await this.#expire(due, request);
    }
  }

  async #cancel(due: DueRequest, request: BackgroundRequest): Promise<void> {
    const ended = await this.#end(request, cancelled(), 'cancelled');
    if (ended === 'missing') await this.#lose(due, request, cancelled());
    else if (ended === 'running') {
      await this.parts.stopRunning(request.id);
      await this.parts.background.lookAgain(due, this.parts.clock.now() + STOP_AGAIN_MS);
    }
  }

  async #expire(due: DueRequest, request: BackgroundRequest): Promise<void> {
    const ended = await this.#end(request, timedOut(), 'provider_timeout');
    if (ended === 'missing') await this.#lose(due, request, lost());
    // Its worker knows the deadline too. When the worker dies, the job waits again.
    else if (ended === 'running')
      await this.parts.background.lookAgain(due, this.parts.clock.now() + STOP_AGAIN_MS);
  }

  /** A request may be in no job for a moment, while it is being queued. */
  async #lose(due: DueRequest, request: BackgroundRequest, error: GatewayError): Promise<void> {
    const { background, clock } = this.parts;
    const now = clock.now();
    const isNew = now - request.begun < GRACE_MS;
    const head: ReplyHead = { queueMs: 0, attempts: 0, error: error.toInfo() };
    if (isNew || !(await background.lose(due, request, head, now)))
      await background.lookAgain(due, now + STOP_AGAIN_MS);
  }

  async #end(
    { jobKeys }: BackgroundRequest,
    error: GatewayError,
    code: LogCode,
  ): Promise<'ended' | 'running' | 'missing'> {
    for (const jobKey of jobKeys) {
      const found = await this.parts.queue.read(jobKey);
      if (!found) continue;
      const { job, starts, at, stays } = found;
      const ended = at === undefined ? job : this.#withBatch(job);
      const why = stays && code !== 'cancelled' ? notCoveredBeside() : undefined;
      const isEnded = await this.#settle(ended, starts, why ?? error, why?.code ?? code);
      return isEnded ? 'ended' : 'running';
    }
    return 'missing';
  }

  /** The provider has the request in a batch of its own, and may bill it. */
  #withBatch(job: ChatJob): ChatJob {
    const entry = job.chain[job.entry] as ChainEntry;
    const { provider, model } = entry;
    const estimate = this.parts.estimateCall(job, entry, 'line');
    const attempt: Attempt = { provider, model, outcome: 'unknown', via: 'provider_batch', estimate };
    return { ...job, attempts: [...job.attempts, attempt] };
  }

  /** False: a worker has it. */
  async #settle(job: ChatJob, died: number, error: GatewayError, code: LogCode): Promise<boolean> {
    const { clock, estimateCall, queue } = this.parts;
    const ended = withLost(job, died, estimateCall);
    const log = failedLogEntry(ended, code, error.reason, clock.now());
    const head: ReplyHead = {
      queueMs: job.queueMs,
      attempts: countCalls(ended.attempts),
      error: error.toInfo(),
    };
    const result = await queue.settle({ job: ended, log, head }, { as: 'withdrawer', died });
    if (result !== 'settled') return false;
    if (isMissed(log)) this.parts.metrics.missedDeadline();
    await queue.tellAccepting(job, head);
    return true;
  }
}

export function cancelled(): GatewayError {
  return new GatewayError('conflict', 'The request was cancelled.', { reason: 'cancelled' });
}

/** It had to stay in the provider's own batch, which has not answered it in time. */
function notCoveredBeside(): GatewayError {
  return new GatewayError(
    'budget_exceeded',
    'The provider’s own batch did not answer the request before its deadline, and may bill it. It was not called beside the batch, because the budget of this workspace does not cover both.',
    { reason: 'budget_second_call' },
  );
}

export function lost(): GatewayError {
  return new GatewayError(
    'provider_outcome_unknown',
    'The request was lost. A provider may have been called, and have billed the call.',
    { reason: 'job_lost' },
  );
}
