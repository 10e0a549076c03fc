import type { Middleware, ParameterizedContext } from 'koa';
import type { ApiMetrics } from './api-metrics.js';

export interface Measured {
  /** By `performance.now()`. */
  startedAt: number;
  /** Of the error that was answered with. */
  code?: string;
}

/** The status that web servers log for a caller who hung up. */
const CANCELLED = { status: 499, code: 'cancelled' };

const TEMPLATES = new Map([['/v1/models/*id', '/v1/models/{id}']]);

/** Counts a request when its answer has left, or its caller. */
export function createMeasure(metrics: ApiMetrics): Middleware<Measured> {
  return async (ctx, next) => {
    const startedAt = performance.now();
    ctx.state.startedAt = startedAt;
    metrics.began();
    ctx.res.once('close', () => {
      const { status, code } = ctx.res.writableFinished
        ? { status: ctx.status, code: ctx.state.code ?? 'ok' }
        : CANCELLED;
      metrics.ended(pathOf(ctx), ctx.method, status, code, (performance.now() - startedAt) / 1000);
    });
    await next();
  };
}

/** Paths that callers make up are one. */
function pathOf(ctx: ParameterizedContext): string {
  const matched: unknown = Reflect.get(ctx, '_matchedRoute');
  return typeof matched === 'string' ? (TEMPLATES.get(matched) ?? matched) : 'other';
}
