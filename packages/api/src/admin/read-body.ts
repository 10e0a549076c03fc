import type { Middleware } from 'koa';
import { createParseBody } from '../http/parse-body.js';

/** A JSON body, or none at all where every field has a default. */
export function createReadBody(maxBytes: number): Middleware {
  const parse = createParseBody(maxBytes);
  return (ctx, next) => {
    const hasBody =
      ctx.request.length !== 0 && (ctx.request.length !== undefined || ctx.get('transfer-encoding') !== '');
    if (hasBody) return parse(ctx, next);
    ctx.request.body = {};
    return next();
  };
}
