import { isWellFormedKey } from '@sluice/shared/contract/gateway-key';
import type { KeyRecord, RevokedKey } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import type { Clock } from '@sluice/shared/redis/clock';
import type { Middleware } from 'koa';
import type { DirectoryCache } from '../cell/directory-cache.js';
import type { KeyUse } from '../cell/key-use.js';
import type { WrongKeys } from './wrong-keys.js';

export interface Authenticated {
  key: KeyRecord;
  /** The key of a request that was refused because its key has expired or was revoked. */
  formerKey?: RevokedKey | undefined;
}

type Refused = 'key_unknown' | 'key_expired' | 'key_revoked';

/** One message for every reason: a caller without a valid key learns nothing about which keys exist. */
const refusal = (reason: 'key_missing' | Refused) =>
  new GatewayError(
    'invalid_api_key',
    'Incorrect or missing API key. Send it as "Authorization: Bearer <GATEWAY_KEY>".',
    {
      headers: { 'www-authenticate': 'Bearer' },
      reason,
    },
  );

export function createAuthenticate(
  directory: DirectoryCache,
  clock: Clock,
  keyUse: Pick<KeyUse, 'saw'>,
  wrongKeys: WrongKeys,
): Middleware<Authenticated> {
  return async (ctx, next) => {
    const refuse = async (reason: Refused) => {
      await wrongKeys.slowDown(ctx.req.socket.remoteAddress);
      throw refusal(reason);
    };
    const [scheme, key, ...rest] = ctx.get('authorization').trim().split(/ +/);
    if (!scheme) throw refusal('key_missing');
    if (scheme.toLowerCase() !== 'bearer' || !key || rest.length > 0 || !isWellFormedKey(key))
      return refuse('key_unknown');
    const stored = await directory.findKey(key);
    if (!stored) {
      ctx.state.formerKey = await directory.findRevoked(key);
      return refuse(ctx.state.formerKey ? 'key_revoked' : 'key_unknown');
    }
    if (stored.key.expires !== undefined && stored.key.expires <= clock.now()) {
      ctx.state.formerKey = stored.key;
      return refuse('key_expired');
    }
    keyUse.saw(stored.digest);
    ctx.state.key = stored.key;
    await next();
  };
}
