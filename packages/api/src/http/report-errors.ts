import { GatewayError } from '@sluice/shared/errors';
import type { Logger } from '@sluice/shared/process/logger';
import type { Reason } from '@sluice/shared/reasons';
import { isRedisAway, isRedisFull } from '@sluice/shared/redis/away';
import type { Middleware, ParameterizedContext } from 'koa';
import type { MeasuredState } from './measured.js';

/** Turns every error into a response. */
export function createReportErrors(logger: Logger): Middleware<MeasuredState> {
  return async (ctx, next) => {
    try {
      await next();
      if (ctx.body === undefined) throwUnrouted(ctx.status, () => 'There is nothing at this path.');
    } catch (error) {
      writeError(ctx, error, logger);
    }
  };
}

/** Answers with the error, and returns its reason. An error that is not a GatewayError is the gateway's own, and is not shown. */
export function writeError(ctx: ParameterizedContext<MeasuredState>, error: unknown, logger: Logger): Reason {
  const known = toGatewayError(error);
  if (known.code === 'internal_error') {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    logger.error(
      { requestId: ctx.state.requestId, error: detail },
      'a request failed by an error of the gateway',
    );
  }
  ctx.state.code = known.code;
  ctx.state.reason = known.reason;
  ctx.status = known.status;
  ctx.set(known.toHeaders());
  ctx.body = known.toBody();
  return known.reason;
}

/** The router reports a missing handler only by the status and an `allow` header. */
export function throwUnrouted(status: number, explain: () => string): void {
  if (status === 404) throw new GatewayError('not_found', explain());
  if (status === 405 || status === 501)
    throw new GatewayError('method_not_allowed', 'This path does not take this method.');
}

export function redisFull(): GatewayError {
  return new GatewayError('service_unavailable', 'The gateway’s queue is full.', {
    retryAfterMs: 5_000,
    reason: 'redis_full',
  });
}

function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (isRedisFull(error)) return redisFull();
  if (isRedisAway(error)) {
    return new GatewayError('service_unavailable', 'The gateway’s queue cannot be reached.', {
      retryAfterMs: 1_000,
      reason: 'redis_away',
    });
  }
  return new GatewayError('internal_error', 'The gateway failed; its log has the request id.');
}

export function hungUp(): GatewayError {
  return new GatewayError('service_unavailable', 'The caller hung up.', { reason: 'caller_left' });
}
