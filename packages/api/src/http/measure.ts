import type { Logger } from '@sluice/shared/process/logger';
import type { Clock } from '@sluice/shared/redis/clock';
import { childOf, parseTraceparent } from '@sluice/shared/tracing/trace-context';
import type { Tracer } from '@sluice/shared/tracing/tracer';
import type { Middleware, ParameterizedContext } from 'koa';
import { type ApiMetrics, CHAT_PATH } from '../cell/metrics.js';
import type { RequestTally } from '../cell/request-tally.js';
import type { MeasuredState } from './measured.js';
import { toRequestLine, toRequestSpan } from './request-line.js';

export interface MeasureParts {
  metrics: ApiMetrics;
  requestTally: Pick<RequestTally, 'count'>;
  logger: Logger;
  /** The requests that get a line in the log. */
  logRequests: 'all' | 'errors';
  tracer: Tracer | undefined;
  clock: Clock;
}

/** The status that web servers log for a caller who hung up. */
const CANCELLED = { status: 499, code: 'cancelled' };

const TEMPLATES = new Map([['/v1/models/*id', '/v1/models/{id}']]);

const HEALTH_CHECKS = new Set(['/healthz', '/readyz']);

/** Counts and logs a request when its answer was sent or its caller has left. */
export function createMeasure({
  metrics,
  requestTally,
  logger,
  logRequests,
  tracer,
  clock,
}: MeasureParts): Middleware<MeasuredState> {
  return async (ctx, next) => {
    const startedAt = performance.now();
    ctx.state.startedAt = startedAt;
    metrics.began();
    const caller = parseTraceparent(ctx.get('traceparent'));
    // Later spans are children of the gateway's span. Without a tracer they are children of the caller's.
    ctx.state.trace = tracer ? childOf(caller) : caller;
    ctx.res.once('close', () => {
      const isAnswered = ctx.res.writableFinished;
      const { status, code } = isAnswered ? { status: ctx.status, code: ctx.state.code ?? 'ok' } : CANCELLED;
      const path = pathOf(ctx);
      const ms = performance.now() - startedAt;
      metrics.ended(path, ctx.method, status, code, ms / 1000);
      if (HEALTH_CHECKS.has(path)) return;
      const { method, state } = ctx;
      if (path === CHAT_PATH) {
        const reason = isAnswered ? state.reason : 'caller_left';
        requestTally.count((state.key ?? state.formerKey)?.workspace, state.route ?? null, reason, ms / 1000);
      }
      tracer?.record(
        toRequestSpan(state, { method, path, status, code, ms }, clock.now()),
        caller,
        state.trace,
      );
      if (logRequests === 'errors' && status < 400) return;
      logger.info(toRequestLine(state, { method, path, status, code, ms }), 'request');
    });
    await next();
  };
}

/** All paths that callers make up share one label. */
function pathOf(ctx: ParameterizedContext): string {
  const matched: unknown = Reflect.get(ctx, '_matchedRoute');
  return typeof matched === 'string' ? (TEMPLATES.get(matched) ?? matched) : 'other';
}
