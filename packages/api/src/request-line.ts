import type { MeasuredState } from './measure.js';

/** All that the log says of a request. Nothing else of it may get there: bodies and headers hold prompts and keys. */
export interface RequestLine {
  requestId: string;
  method: string;
  /** A template, never what the caller sent. */
  path: string;
  status: number;
  code: string;
  ms: number;
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

export function toRequestLine(
  { requestId, key, route, reply }: MeasuredState,
  { method, path, status, code, ms }: Pick<RequestLine, 'method' | 'path' | 'status' | 'code' | 'ms'>,
): RequestLine {
  const line: RequestLine = { requestId, method, path, status, code, ms: Math.round(ms * 10) / 10 };
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
    Object.assign(line, { provider, model, fallbackUsed, latencyMs, costUsd });
  }
  return line;
}
