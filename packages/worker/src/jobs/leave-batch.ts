/**
 * A single request leaves a provider's batch alone. The provider may bill its line and the call that follows: one whose budget
 * does not cover both stays.
 */
import { monthOf } from '@sluice/shared/calendar';
import { requestOf } from '@sluice/shared/chat';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { Attempt, ChatJob } from '@sluice/shared/queue/job';
import type { MoreBudget } from '@sluice/shared/queue/more-budget';
import { openRequest, type Payloads } from '@sluice/shared/queue/payload';
import type { HandedPart } from '@sluice/shared/queue/provider-batches';
import type { Clock } from '@sluice/shared/redis/clock';
import type { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import type { Upstreams } from '../calls/upstreams.js';
import { parseRequest } from './parse-request.js';

/** A request that stays because of its budget asks again so often. Others may have given back what they held. */
const ASKS_AGAIN_MS = 60_000;

export interface LeaveBatchParts {
  clock: Clock;
  estimate: Pick<CostEstimate, 'ofCall'>;
  moreBudget: Pick<MoreBudget, 'ask'>;
  payloads: Payloads;
  queue: Pick<ChatQueue, 'leavePart'>;
  upstreams: Pick<Upstreams, 'get'>;
}

export class LeaveBatch {
  constructor(private readonly parts: LeaveBatchParts) {}

  /** What its line costs at most, in picodollars. */
  billOf(job: ChatJob, { entry, created: from }: HandedPart): number {
    const { estimate, payloads, upstreams } = this.parts;
    const factor = upstreams.get(entry.provider)?.config.batchPriceFactor ?? 1;
    const request = requestOf(job, parseRequest(openRequest(payloads, job), job.messagesAt));
    return Math.ceil(factor * estimate.ofCall(request, entry, job.budget, { from, until: job.deadline }));
  }

  /** `what`: what has become of its line. */
  async leave(job: ChatJob, part: HandedPart, what: Pick<Attempt, 'outcome' | 'status'>): Promise<void> {
    const { clock, moreBudget, queue } = this.parts;
    const { provider, model } = part.entry;
    const now = clock.now();
    const bill = { estimate: this.billOf(job, part) };
    if (job.plan) job.plan.withoutBatch = true;
    job.attempts.push({ provider, model, ...what, via: 'provider_batch', ...bill });
    const more = await moreBudget.ask(job, bill.estimate);
    await queue.leavePart(job, part.id, { ...bill, month: monthOf(now), again: now + ASKS_AGAIN_MS, more });
  }
}
