import { rankOf } from '@sluice/shared/contract/priority';
import { DEADLINES } from '@sluice/shared/process/protocol';
import type { ChatJob } from '@sluice/shared/queue/job';
import type { Lately } from '@sluice/shared/queue/lately';
import { latestSafeStart, UNKNOWN_CALL_MS } from '@sluice/shared/queue/plan';
import type { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import type { BatchRecord } from './batch-record.js';
import type { FedLine } from './line-store.js';

/** The batch ends what is left of it first. */
const AFTER_BATCH_MS = 5_000;
/** Of the calls before, this share was over in the time that is planned for each line that follows. */
const SAFE_SHARE = 0.95;

export interface PlanLineParts {
  estimate: Pick<CostEstimate, 'mayBeCheaper'>;
  lately: Lately;
  linesInFlight: number;
  protocol(): number;
}

/**
 * Gives a line the time of its batch, where its model has a cheaper tier or cheaper hours. The lines that follow need time,
 * too: it is reckoned that twice as much as they took lately is left for them. Other lines go the way of any request.
 */
export function planLine(
  { estimate, lately, linesInFlight, protocol }: PlanLineParts,
  { expires, inputBytes }: BatchRecord,
  { line, end }: Pick<FedLine, 'line' | 'end'>,
  job: ChatJob,
): void {
  const [entry] = job.chain;
  // A worker of an older version would not find it.
  if (!entry || job.endpoint !== undefined || protocol() < DEADLINES) return;
  if (!estimate.mayBeCheaper(entry)) return;
  const after = Math.max(0, inputBytes - end) * (line / end);
  const callMs = lately.callMs(entry, undefined, SAFE_SHARE) ?? UNKNOWN_CALL_MS;
  const marginMs = (2 * after * callMs) / linesInFlight;
  const planned = {
    ...job,
    deadline: expires + AFTER_BATCH_MS,
    plan: { urgentAt: 0, highest: rankOf('normal'), marginMs },
  };
  const urgentAt = latestSafeStart(entry, lately, planned);
  if (urgentAt <= job.acceptedAt) return;
  job.deadline = planned.deadline;
  job.plan = { ...planned.plan, urgentAt };
}
