import type { Attempt, ChatJob } from '@sluice/shared/queue/job';
import { parseTraceparent } from '@sluice/shared/tracing/trace-context';

/** All that the log says of an attempt. The job has the prompt, so it is never logged itself. */
export interface AttemptLine extends Attempt {
  requestId: string;
  /** Of the trace it belongs to, if it is traced. */
  traceId?: string;
  workspace: string;
  route?: string;
  /** Its place in the chain. */
  entry: number;
  /** Waited for this entry and those before. */
  queueMs: number;
}

export function toAttemptLine(job: ChatJob, attempt: Attempt): AttemptLine {
  const { requestId, workspace, route, entry, queueMs } = job;
  const { provider, model, outcome, status, ms, upstreamId, estimate } = attempt;
  const line: AttemptLine = { requestId, workspace, entry, queueMs, provider, model, outcome };
  const trace = parseTraceparent(job.trace);
  if (trace) line.traceId = trace.traceId;
  if (route !== null) line.route = route;
  if (status !== undefined) line.status = status;
  if (ms !== undefined) line.ms = ms;
  if (upstreamId !== undefined) line.upstreamId = upstreamId;
  if (estimate !== undefined) line.estimate = estimate;
  return line;
}
