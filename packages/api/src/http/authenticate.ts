/**
 * Finds the key of a request. A connection mostly sends the same key again, so the latest right one of each socket is kept, and
 * found without a digest. It holds only while the cache that it came from is valid: a revoked key is refused here as soon as
 * there. Wrong keys are not kept; `wrong-keys.ts` slows them down.
 */
import type { Socket } from 'node:net';
import { isWellFormedKey } from '@sluice/shared/contract/gateway-key';
import type { KeyRecord, RevokedKey, StoredKey } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import type { Clock } from '@sluice/shared/redis/clock';
import type { Middleware, ParameterizedContext } from 'koa';
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

/** The latest right key of a connection. */
interface Latest {
  header: string;
  stored: StoredKey;
  /** The key is right as long as the directory's cache is this one. */
  cache: object;
}

export class Authentication {
  readonly #latest = new WeakMap<Socket, Latest>();

  constructor(
    private readonly directory: DirectoryCache,
    private readonly clock: Clock,
    private readonly keyUse: Pick<KeyUse, 'saw'>,
    private readonly wrongKeys: WrongKeys,
  ) {}

  /** The key of a request, if the request before it on the same connection had the same one, as nearly all have. */
  known({ req, state }: ParameterizedContext<Partial<Authenticated>>): KeyRecord | undefined {
    const latest = this.#latest.get(req.socket);
    if (!latest || latest.header !== req.headers.authorization) return undefined;
    const { stored, cache } = latest;
    if (cache !== this.directory.trusted || this.#isExpired(stored)) return undefined;
    this.keyUse.saw(stored.digest);
    state.key = stored.key;
    return stored.key;
  }

  /** The key of a request. */
  async authenticate(ctx: ParameterizedContext<Partial<Authenticated>>): Promise<KeyRecord> {
    const header = ctx.req.headers.authorization ?? '';
    const [scheme, key, ...rest] = header.trim().split(/ +/);
    if (!scheme) throw refusal('key_missing');
    if (scheme.toLowerCase() !== 'bearer' || !key || rest.length > 0 || !isWellFormedKey(key))
      return this.#refuse(ctx, 'key_unknown');
    const known = this.directory.knownKey(key);
    const cache = this.directory.trusted;
    if (known && cache) this.#latest.set(ctx.req.socket, { header, stored: known, cache });
    const stored = known ?? (await this.directory.findKey(key));
    if (!stored) {
      ctx.state.formerKey = await this.directory.findRevoked(key);
      return this.#refuse(ctx, ctx.state.formerKey ? 'key_revoked' : 'key_unknown');
    }
    if (this.#isExpired(stored)) {
      ctx.state.formerKey = stored.key;
      return this.#refuse(ctx, 'key_expired');
    }
    this.keyUse.saw(stored.digest);
    ctx.state.key = stored.key;
    return stored.key;
  }

  #isExpired({ key }: StoredKey): boolean {
    return key.expires !== undefined && key.expires <= this.clock.now();
  }

  async #refuse(ctx: ParameterizedContext, reason: Refused): Promise<never> {
    await this.wrongKeys.slowDown(ctx.req.socket.remoteAddress);
    throw refusal(reason);
  }
}

export function createAuthenticate(authentication: Authentication): Middleware<Authenticated> {
  return async (ctx, next) => {
    await authentication.authenticate(ctx);
    return next();
  };
}
