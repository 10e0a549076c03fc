import type { ReplyHead } from '@sluice/shared/queue/job';
import type { TraceContext } from '@sluice/shared/tracing/trace-context';
import type { Authenticated } from './authenticate.js';
import type { Identified } from './request-id.js';

/** What is noted on a request while it is handled, for its log line, its metrics and its span. */
export interface Measured {
  /** By `performance.now()`. */
  startedAt: number;
  /** The code of the error that the caller got. */
  code?: string;
  /** The route of a chat request that was let in; null for a direct model id. */
  route?: string | null;
  trace?: TraceContext | undefined;
  reply?: { head: ReplyHead; replayed: boolean };
}

export type MeasuredState = Measured & Identified & Partial<Authenticated>;
