import { parseJson } from '@sluice/api/http/parse-json';
import { createReadText, type Received } from '@sluice/api/http/read-text';
import { refuseExcess } from '@sluice/api/http/refuse-excess';
import type { JsonLimits } from '@sluice/shared/json/measure';
import type { Middleware } from 'koa';

declare module 'koa' {
  interface Request {
    /** The parsed JSON. */
    body?: unknown;
  }
}

/** Reads a JSON body. The body may be missing, for routes on which every field has a default. */
export function createReadBody(maxBytes: number, limits: JsonLimits): Middleware<Received> {
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
      refuseExcess(ctx.state.bodyText, limits);
      ctx.request.body = parseJson(ctx.state.bodyText);
      return next();
    });
  };
}
