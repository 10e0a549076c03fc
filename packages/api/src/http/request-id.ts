import { makeRequestId } from '@sluice/shared/request-id';
import type { Middleware } from 'koa';

export interface Identified {
  requestId: string;
}

/** Every response names its request. A caller's own `x-request-id` is ignored, because it may not be unique. */
export const identify: Middleware<Identified> = (ctx, next) => {
  ctx.state.requestId = makeRequestId();
  ctx.set('x-request-id', `req_${ctx.state.requestId}`);
  return next();
};
