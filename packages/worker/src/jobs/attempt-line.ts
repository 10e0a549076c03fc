import type { Attempt, ChatJob } from '@sluice/shared/queue/job';
import { parseTraceparent } from '@sluice/shared/tracing/trace-context';

/** The log line of an attempt. The job itself is never logged, because it has the prompt. */
export interface AttemptLine extends Attempt {
  requestId: string;
  /** The trace of the request, if it is traced. */
  traceId?: string;
  workspace: string;
  route?: string;
  /** The index of the entry in the chain. */
  entry: number;
  /** The time that the request waited for this entry and the earlier ones. */
  queueMs: number;
}

export function toAttemptLine(job: ChatJob, attempt: Attempt): AttemptLine {
  const { requestId, workspace, route, entry, queueMs } = job;
  const {
    provider,
    model,
    outcome,
    status,
    ms,
    firstTokenMs,
    said,
    why,
    adapted,
    upstreamId,
    api,
    estimate,
  } = attempt;
  const line: AttemptLine = { requestId, workspace, entry, queueMs, provider, model, outcome };
  const trace = parseTraceparent(job.trace);
  if (trace) line.traceId = trace.traceId;
  if (route !== null) line.route = route;
  if (status !== undefined) line.status = status;
  if (ms !== undefined) line.ms = ms;
  if (firstTokenMs !== undefined) line.firstTokenMs = firstTokenMs;
  if (said !== undefined) line.said = said;
  if (why !== undefined) line.why = why;
  if (adapted !== undefined) line.adapted = adapted;
  if (upstreamId !== undefined) line.upstreamId = upstreamId;
  if (api !== undefined) line.api = api;
  if (estimate !== undefined) line.estimate = estimate;
  return line;
}
