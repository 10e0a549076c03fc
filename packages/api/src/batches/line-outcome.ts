/** The outcome of a line, and the line of the output or error file for it. */
import { type ErrorInfo, GatewayError } from '@sluice/shared/errors';
import { cutMember } from '@sluice/shared/json/member';
import type { ReplyHead } from '@sluice/shared/queue/job';
import { answerContext, openError, type Payloads } from '@sluice/shared/queue/payload';
import type { Reason } from '@sluice/shared/reasons';
import type { EndReason, WaitReason } from './batch-record.js';
import type { StoredResult } from './line-store.js';

/** A line that providers refuse for now is sent again at most this often. */
const MOST_REFUSALS = 20;
/** The worker writes no deeper answer. */
const MOST_DEPTH = 2_000;
const SHORTEST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
const BUDGET_WAIT_MS = 10_000;
/** Limits of the workspace itself. They say when the line may come, so it does not wait longer each time. */
const OWN_LIMITS: ReadonlySet<Reason> = new Set(['workspace_concurrency', 'workspace_requests_per_minute']);

export interface LineUsage {
  input: number;
  cached: number;
  output: number;
  reasoning: number;
}

export type LineOutcome =
  | { as: 'answered'; text: string; usage: LineUsage; cost: number }
  | { as: 'failed'; text: string; code: string }
  /** Nothing was decided: it is sent again. */
  | { as: 'not_now'; waitMs: number; why: WaitReason };

export interface JudgedLine {
  workspace: string;
  customId: string;
  /** How often the line was sent without success. */
  refused: number;
}

export function judge(result: StoredResult, line: JudgedLine, payloads: Payloads): LineOutcome {
  const { requestId } = result;
  const head = JSON.parse(result.head) as ReplyHead;
  const context = answerContext({ workspace: line.workspace, requestId });
  if (head.served) {
    const body = payloads.open(result.body, context);
    return {
      as: 'answered',
      text: answeredLine(requestId, line.customId, 200, body),
      usage: readUsage(body),
      cost: result.cost,
    };
  }
  const error: ErrorInfo = head.error
    ? openError(payloads, head.error, context)
    : { code: 'internal_error', message: 'The reply was empty.' };
  return notNow(error, head.attempts, line.refused) ?? failedOutcome(requestId, line.customId, error);
}

/** The outcome of a line whose request is invalid, or that no provider answered. */
export function failedOutcome(requestId: string, customId: string, info: ErrorInfo): LineOutcome {
  const error = GatewayError.from(info);
  const body = JSON.stringify(error.toBody());
  return { as: 'failed', code: info.code, text: answeredLine(requestId, customId, error.status, body) };
}

const LEFT_OVER: Record<EndReason, string> = {
  batch_expired: 'The batch’s time was over before this line could be answered.',
  batch_cancelled: 'The batch was cancelled before this line was answered.',
  budget_exceeded: 'A budget of the workspace was spent before this line was answered.',
};

/** The output of a line that was never sent or never answered. */
export function leftOverLine(id: string, customId: string, reason: EndReason): string {
  const error = { code: reason, message: LEFT_OVER[reason] };
  return `${JSON.stringify({ id: `batch_req_${id}`, custom_id: customId, response: null, error })}\n`;
}

function answeredLine(requestId: string, customId: string, status: number, body: string): string {
  return (
    `{"id":"batch_req_${requestId}","custom_id":${JSON.stringify(customId)},"response":{"status_code":${status},` +
    `"request_id":"req_${requestId}","body":${body}},"error":null}\n`
  );
}

/** Refusals that only mean "later". Those after a call are counted, because a provider may refuse for ever. */
function notNow(error: ErrorInfo, calls: number, refused: number): LineOutcome | undefined {
  const waitMs = Math.min(
    LONGEST_WAIT_MS,
    Math.max(SHORTEST_WAIT_MS * 2 ** Math.min(refused, 6), error.retryAfterMs ?? 0),
  );
  switch (error.code) {
    case 'budget_exceeded':
      // The error names the model when the model has no price. Such a line would be refused for ever.
      if (error.param) return undefined;
      if (error.reason === 'budget_reserved') return { as: 'not_now', waitMs: heldMs(error), why: 'limits' };
      return { as: 'not_now', waitMs: BUDGET_WAIT_MS, why: 'budget' };
    case 'rate_limited':
    case 'provider_unavailable':
    case 'service_unavailable':
      if (error.reason && OWN_LIMITS.has(error.reason))
        return { as: 'not_now', waitMs: heldMs(error), why: 'limits' };
      if (calls > 0 && refused >= MOST_REFUSALS) return undefined;
      return { as: 'not_now', waitMs, why: error.code === 'rate_limited' ? 'limits' : 'providers' };
    case 'provider_timeout':
      // The line's turn did not come. If a provider was called and did not answer in time, the line has failed.
      return calls === 0 ? { as: 'not_now', waitMs, why: 'providers' } : undefined;
    default:
      return undefined;
  }
}

/** The line has waited already for what others hold. */
function heldMs({ retryAfterMs = 0 }: ErrorInfo): number {
  return Math.min(LONGEST_WAIT_MS, Math.max(SHORTEST_WAIT_MS, retryAfterMs));
}

/** An answer with vectors has megabytes of numbers beside its usage. */
function usageIn(body: string): Record<string, unknown> | undefined {
  const cut = cutMember(body, 'usage', '', MOST_DEPTH);
  return cut ? JSON.parse(cut.member) : (JSON.parse(body) as { usage?: Record<string, unknown> }).usage;
}

function readUsage(body: string): LineUsage {
  const usage = usageIn(body);
  const number = (value: unknown) => (typeof value === 'number' && Number.isSafeInteger(value) ? value : 0);
  const detail = (details: unknown, field: string) =>
    number(typeof details === 'object' && details !== null ? Reflect.get(details, field) : 0);
  return {
    input: number(usage?.prompt_tokens),
    cached: detail(usage?.prompt_tokens_details, 'cached_tokens'),
    output: number(usage?.completion_tokens),
    reasoning: detail(usage?.completion_tokens_details, 'reasoning_tokens'),
  };
}
