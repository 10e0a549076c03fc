import type { Span } from '@sluice/shared/tracing/tracer';
import type { MeasuredState } from './measured.js';

interface Measures {
  method: string;
  /** A template, never what the caller sent. */
  path: string;
  status: number;
  code: string;
  ms: number;
}

/**
 * The fields of a request's log line, in JSON (`createLineLogger`). No other part of a request is logged, because bodies and
 * headers hold prompts and keys.
 */
export function toRequestLine(
  { requestId, key, route, reply, trace, reason }: MeasuredState,
  { method, path, status, code, ms }: Measures,
): string {
  // The caller was told the id in this form, so a search for it finds the line. Method, path and code need no escapes.
  let line = `,"requestId":"req_${requestId}","method":"${method}","path":"${path}","status":${status},"code":"${code}","ms":${Math.round(ms * 10) / 10}`;
  if (reason !== undefined) line += `,"reason":"${reason}"`;
  if (trace) line += `,"traceId":"${trace.traceId}"`;
  if (key) line += `,"workspace":${JSON.stringify(key.workspace)},"keyId":${JSON.stringify(key.id)}`;
  if (typeof route === 'string') line += `,"route":${JSON.stringify(route)}`;
  if (!reply) return line;
  const { head, replayed } = reply;
  line += `,"queueMs":${head.queueMs},"attempts":${head.attempts}`;
  if (replayed) line += ',"replayed":true';
  if (head.served) {
    const { provider, model, fallbackUsed, latencyMs, costUsd } = head.served;
    line += `,"provider":${JSON.stringify(provider)},"model":${JSON.stringify(model)},"latencyMs":${latencyMs}`;
    if (fallbackUsed) line += ',"fallbackUsed":true';
    // The line of the first request has the cost of the call.
    if (!replayed) line += `,"costUsd":${JSON.stringify(costUsd)}`;
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
