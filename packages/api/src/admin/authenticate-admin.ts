import { createHash, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '@sluice/shared/errors';
import type { Middleware } from 'koa';

/** Digests are compared, in constant time: how long it takes tells nothing, not even the length of the token. */
export function createAuthenticateAdmin(token: string): Middleware {
  const expected = digest(token);
  return (ctx, next) => {
    const [scheme, sent, ...rest] = ctx.get('authorization').trim().split(/ +/);
    const isRight = timingSafeEqual(digest(sent ?? ''), expected);
    if (scheme?.toLowerCase() !== 'bearer' || rest.length > 0 || !isRight) {
      const message = 'Incorrect or missing admin token. Send it as "Authorization: Bearer <ADMIN_TOKEN>".';
      throw new GatewayError('invalid_api_key', message, { headers: { 'www-authenticate': 'Bearer' } });
    }
    return next();
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
