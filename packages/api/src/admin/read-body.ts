import type { Middleware } from 'koa';
import { parseJson } from '../http/parse-json.js';
import { createReadText, type Received } from '../http/read-text.js';

declare module 'koa' {
  interface Request {
    /** The parsed JSON. */
    body?: unknown;
  }
}

/** Reads a JSON body. The body may be missing, for routes on which every field has a default. */
export function createReadBody(maxBytes: number): Middleware<Received> {
  const read = createReadText(maxBytes);
  return (ctx, next) => {
    const hasBody =
      ctx.request.length !== 0 && (ctx.request.length !== undefined || ctx.get('transfer-encoding') !== '');
    if (!hasBody) {
      ctx.state.bodyText = '{}';
      ctx.request.body = {};
      return next();
    }
    return read(ctx, () => {
      ctx.request.body = parseJson(ctx.state.bodyText);
      return next();
    });
  };
}
