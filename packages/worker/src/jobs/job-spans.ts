/** The spans of a job. Names as in OpenTelemetry's conventions for generative AI; no prompt, no completion. */
import type { ChainEntry, ChatJob } from '@sluice/shared/queue/job';
import { parseTraceparent } from '@sluice/shared/tracing/trace-context';
import type { Tracer } from '@sluice/shared/tracing/tracer';
import type { CallResult } from '../calls/call-provider.js';

export function recordQueueWait(tracer: Tracer, job: ChatJob, { provider }: ChainEntry, now: number): void {
  const attributes = {
    'messaging.system': 'bullmq',
    'messaging.destination.name': provider,
    'messaging.message.id': `${job.requestId}-${job.entry}`,
  };
  const span = {
    name: `queue ${provider}`,
    kind: 'consumer',
    start: job.queuedAt,
    // Two processes may differ a little about Redis time.
    end: Math.max(now, job.queuedAt),
    attributes,
  } as const;
  tracer.record(span, parseTraceparent(job.trace));
}

export function recordCall(
  tracer: Tracer,
  job: ChatJob,
  { provider, model }: ChainEntry,
  kind: string,
  { ms = 0, response, failure }: CallResult,
  now: number,
): void {
  const usage = response?.usage;
  const input = usage && usage.input + usage.cachedInput + usage.cacheWrite + usage.cacheWrite1h;
  const operation = job.endpoint ?? 'chat';
  const attributes = {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': kind,
    'gen_ai.request.model': model,
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': usage?.output,
    'http.response.status_code': failure ? failure.status : 200,
    'gateway.provider': provider,
    'gateway.entry': job.entry,
    'gateway.request_id': `req_${job.requestId}`,
  };
  const span = {
    name: `${operation} ${model}`,
    kind: 'client',
    start: now - ms,
    end: now,
    attributes,
  } as const;
  tracer.record({ ...span, error: failure?.outcome }, parseTraceparent(job.trace));
}
