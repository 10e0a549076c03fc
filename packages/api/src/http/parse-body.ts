import { GatewayError } from '@sluice/shared/errors';
import type { Middleware, ParameterizedContext } from 'koa';
import bodyParser from 'koa-bodyparser';

/** What nearly every client sends. */
const PLAIN_JSON = /^application\/json(?:; ?charset=utf-8)?$/i;

/** Whatever the content type says, koa-bodyparser reads UTF-8. JSON needs no charset, so none is right too. */
const UTF_8 = /^(?:utf-?8|us-ascii)?$/i;

/**
 * Reads a JSON body. koa-bodyparser leaves other content types as `{}`, so those are refused before it; its errors carry
 * the raw body and are therefore never passed on or logged.
 */
export function createParseBody(maxBytes: number): Middleware {
  const parse = bodyParser({
    enableTypes: ['json'],
    // The content type has been checked when it is asked.
    detectJSON: () => true,
    jsonLimit: `${maxBytes}b`,
    onerror(error, ctx) {
      const status = 'status' in error ? error.status : undefined;
      // The rest is read and dropped. Were the connection closed instead, a caller that is still sending would see
      // it break, and not the answer.
      ctx.req.resume();
      if (status === 413) throw tooLarge(maxBytes);
      throw new GatewayError('invalid_request', 'The body is not valid JSON, or has a key named __proto__.');
    },
  });
  return (ctx, next) => {
    const encoding = ctx.get('content-encoding').toLowerCase();
    if (encoding !== '' && encoding !== 'identity') {
      throw new GatewayError('unsupported_media_type', 'The body must not be compressed.');
    }
    if (!PLAIN_JSON.test(ctx.get('content-type'))) checkContentType(ctx);
    // The parser reads the length as a number of 32 bits.
    if ((ctx.request.length ?? 0) > maxBytes) throw tooLarge(maxBytes);
    return parse(ctx, next);
  };
}

function checkContentType(ctx: ParameterizedContext): void {
  if (!ctx.is('application/json'))
    throw new GatewayError('unsupported_media_type', 'Send the body as content-type: application/json.');
  if (!UTF_8.test(ctx.request.charset))
    throw new GatewayError('unsupported_media_type', 'The body must be encoded in UTF-8.');
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('request_too_large', `The body is larger than ${maxBytes} bytes.`);
}
