/** Links that sign one browser in, once and soon. A link carries the rights of the person who made it. */
import type { Clock } from '@sluice/shared/redis/clock';
import type { ControlNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';
import type { Principal } from './principal.js';
import { digestOf, isSame, makeSecret, proofOf } from './secrets.js';

export const LINK_MS = 10 * 60_000;

interface LinkRecord {
  principal: Principal;
  rootProof: string;
}

export class SignInLinks {
  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
    private readonly clock: Clock,
    private readonly rootToken: string,
  ) {}

  async make(principal: Principal): Promise<{ secret: string; expires: number }> {
    const secret = makeSecret();
    const record: LinkRecord = { principal, rootProof: proofOf(this.rootToken, secret) };
    await this.redis.set(this.names.signInLink(digestOf(secret)), JSON.stringify(record), 'PX', LINK_MS);
    return { secret, expires: this.clock.now() + LINK_MS };
  }

  /** A link works once: of two browsers with the same link, only one is signed in. */
  async use(secret: string): Promise<Principal | undefined> {
    const key = this.names.signInLink(digestOf(secret));
    const text = await this.redis.get(key);
    if (text === null || (await this.redis.del(key)) !== 1) return undefined;
    const { principal, rootProof } = JSON.parse(text) as LinkRecord;
    return isSame(rootProof, proofOf(this.rootToken, secret)) ? principal : undefined;
  }
}
