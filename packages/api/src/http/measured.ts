import type { ReplyHead } from '@sluice/shared/queue/job';
import type { Reason } from '@sluice/shared/reasons';
import type { TraceContext } from '@sluice/shared/tracing/trace-context';
import type { Authenticated } from './authenticate.js';
import type { Identified } from './request-id.js';

/** Notes about a request for its log line, metrics and span. */
export interface Measured {
  /** By `performance.now()`. */
  startedAt: number;
  /** The code of the error that the caller got. */
  code?: string;
  /** Why the caller got it. */
  reason?: Reason;
  /** The route of an accepted chat request. Null for a direct model id. */
  route?: string | null;
  trace?: TraceContext | undefined;
  reply?: { head: ReplyHead; replayed: boolean };
  /** Whether the answer was sent, or the caller has left. */
  isClosed?: boolean;
  /** What to do at that moment. A request has one such task at a time. */
  whenClosed?: (() => void) | undefined;
}

export type MeasuredState = Measured & Identified & Partial<Authenticated>;
