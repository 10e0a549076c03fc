import { createHash, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '@sluice/shared/errors';
import type { Middleware } from 'koa';
import type { WrongKeys } from '../http/wrong-keys.js';

/** Digests are compared, in constant time: how long it takes tells nothing, not even the length of the token. */
export function createAuthenticateAdmin(token: string, wrongKeys: WrongKeys): Middleware {
  const expected = digest(token);
  return async (ctx, next) => {
    const [, sent = ''] = /^bearer +(.*)$/i.exec(ctx.get('authorization').trim()) ?? [];
    if (!timingSafeEqual(digest(sent), expected)) {
      if (sent !== '') await wrongKeys.slowDown(ctx.req.socket.remoteAddress);
      const message = 'Incorrect or missing admin token. Send it as "Authorization: Bearer <ADMIN_TOKEN>".';
      throw new GatewayError('invalid_api_key', message, { headers: { 'www-authenticate': 'Bearer' } });
    }
    return next();
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
