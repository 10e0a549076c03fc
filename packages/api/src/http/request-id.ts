import { makeRequestId } from '@sluice/shared/request-id';
import type { Middleware } from 'koa';

export interface Identified {
  requestId: string;
}

/** Every response names its request; a caller's own `x-request-id` is not trusted to be unique. */
export const identify: Middleware<Identified> = (ctx, next) => {
  ctx.state.requestId = makeRequestId();
  ctx.set('x-request-id', `req_${ctx.state.requestId}`);
  return next();
};
