/** W3C trace context: which trace a request belongs to, as its `traceparent` says. */
import { randomBytes } from 'node:crypto';

export interface TraceContext {
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits: the span that is the parent of the following spans. */
  spanId: string;
  sampled: boolean;
}

// Versions after 00 may have more fields after these four.
const TRACEPARENT =
  /^(?!ff)(?!00-.{53})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(header ?? '') ?? [];
  if (!traceId || !spanId || !flags) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** A new span in the parent's trace, or in a new trace. */
export function childOf(parent: TraceContext | undefined): TraceContext {
  const spanId = randomBytes(8).toString('hex');
  return parent ? { ...parent, spanId } : { traceId: randomBytes(16).toString('hex'), spanId, sampled: true };
}
