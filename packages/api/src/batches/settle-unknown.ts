/**
 * Ends the lines that a provider may have run in its own batch, and whose results nobody could read before the batch was
 * over. The provider may bill them. So each has a log entry with an estimate of its cost, like a call whose worker died.
 */
import type { ErrorInfo } from '@sluice/shared/errors';
import type { FileLine } from '@sluice/shared/json/read-lines';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { answerContext, type Payloads, sealError } from '@sluice/shared/queue/payload';
import { type HandedBatch, jobOfLine } from '@sluice/shared/queue/provider-batches';
import { failedLogEntry } from '@sluice/shared/queue/request-log';
import type { Clock } from '@sluice/shared/redis/clock';
import type { BatchRecord } from './batch-record.js';
import type { LineLimits } from './check-lines.js';
import { requestIdOf } from './handed-lines.js';
import type { FedLine } from './line-store.js';
import { isMistake, parseLine } from './parse-line.js';
import type { PartBudget } from './part-budget.js';

const CODE = 'provider_outcome_unknown';
const REASON = 'outcome_unknown';
const UNKNOWN: ErrorInfo = {
  code: CODE,
  message:
    'The provider had this line in a batch of its own, and its result could not be read before the batch was over. The provider may have answered and billed the line.',
  reason: REASON,
};

export interface SettleUnknownParts {
  queue: Pick<ChatQueue, 'settle'>;
  budget: PartBudget;
  payloads: Payloads;
  clock: Clock;
}

/** `lines`: those of the part. `open`: the lines of the batch that are recorded, and so are not settled yet. */
export async function settleUnknown(
  { queue, budget, payloads, clock }: SettleUnknownParts,
  { id }: Pick<BatchRecord, 'id'>,
  limits: LineLimits,
  { part, state }: HandedBatch,
  lines: AsyncIterable<FileLine>,
  open: ReadonlyMap<string, FedLine>,
): Promise<void> {
  const { entry } = part;
  const [upstreamId] = state.isCertain ? state.candidates : [];
  for await (const line of lines) {
    const requestId = requestIdOf(id, line.number);
    const fed = open.get(requestId);
    if (fed?.at !== part.id) continue;
    const parsed = parseLine(line.text, limits);
    // No mistake was handed over, so the file is gone. The part has reserved this much for a line.
    const share = Math.ceil((part.reserved ?? 0) / part.lines);
    const job = jobOfLine(part, fed, requestId, clock.now(), {
      provider: entry.provider,
      model: entry.model,
      outcome: 'unknown',
      via: 'provider_batch',
      estimate: isMistake(parsed) ? share : budget.estimateOf(part, parsed.body),
      ...(upstreamId === undefined ? {} : { upstreamId }),
    });
    const log = failedLogEntry(job, CODE, REASON, clock.now());
    const head = { queueMs: 0, attempts: 1, error: sealError(payloads, UNKNOWN, answerContext(job)) };
    await queue.settle({ job, log, head }, { as: 'refuser' });
  }
}
