import type { Span } from '@sluice/shared/tracing/tracer';
import type { MeasuredState } from './measured.js';

/** The log line of a request. No other part of a request is logged, because bodies and headers hold prompts and keys. */
export interface RequestLine {
  requestId: string;
  /** The trace of the request, if it is traced. */
  traceId?: string;
  method: string;
  /** A template, never what the caller sent. */
  path: string;
  status: number;
  code: string;
  ms: number;
  /** Why it was not served. */
  reason?: string;
  workspace?: string;
  keyId?: string;
  route?: string;
  queueMs?: number;
  attempts?: number;
  provider?: string;
  model?: string;
  fallbackUsed?: boolean;
  latencyMs?: number;
  costUsd?: string;
  replayed?: boolean;
}

type Measures = Pick<RequestLine, 'method' | 'path' | 'status' | 'code' | 'ms'>;

export function toRequestLine(
  { requestId, key, route, reply, trace, reason }: MeasuredState,
  { method, path, status, code, ms }: Measures,
): RequestLine {
  const line: RequestLine = { requestId, method, path, status, code, ms: Math.round(ms * 10) / 10 };
  if (reason !== undefined) line.reason = reason;
  if (trace) line.traceId = trace.traceId;
  if (key) {
    line.workspace = key.workspace;
    line.keyId = key.id;
  }
  if (typeof route === 'string') line.route = route;
  if (!reply) return line;
  const { head, replayed } = reply;
  line.queueMs = head.queueMs;
  line.attempts = head.attempts;
  if (replayed) line.replayed = true;
  if (head.served) {
    const { provider, model, fallbackUsed, latencyMs, costUsd } = head.served;
    Object.assign(line, { provider, model, latencyMs });
    if (fallbackUsed) line.fallbackUsed = true;
    // The line of the first request has the cost of the call.
    if (!replayed) line.costUsd = costUsd;
  }
  return line;
}

/** The span of a request. `now` is Redis time, so that the spans of all processes are on one clock. */
export function toRequestSpan(
  { requestId, key, route }: MeasuredState,
  { method, path, status, code, ms }: Measures,
  now: number,
): Span {
  const attributes = {
    'http.request.method': method,
    'http.route': path,
    'http.response.status_code': status,
    'gateway.request_id': `req_${requestId}`,
    'gateway.workspace': key?.workspace,
    'gateway.route': route ?? undefined,
  };
  const error = code === 'ok' ? undefined : code;
  return { name: `${method} ${path}`, kind: 'server', start: now - ms, end: now, attributes, error };
}
