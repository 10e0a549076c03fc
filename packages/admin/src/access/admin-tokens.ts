/** Tokens for programs. Each has a name, a role, workspaces and an expiry. Redis has only keyed digests of them. */
import type { Grant } from '@sluice/shared/config/gateway-config';
import type { KeyDigests } from '@sluice/shared/directory/key-digests';
import { GatewayError } from '@sluice/shared/errors';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ControlNames } from '@sluice/shared/redis/key-names';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Redis } from 'ioredis';
import type { Principal } from './principal.js';
import { makeSecret } from './secrets.js';

const PREFIX = 'gw_admin_';
const TOKEN = /^gw_admin_[\w-]{43}$/;
const MAX_TOKENS = 1_000;
const USE_EVERY_MS = 60_000;

export interface TokenRecord {
  id: string;
  name: string;
  grant: Grant;
  /** The last four characters of the token, by which people recognise it. */
  lastFour: string;
  created: number;
  createdBy: string;
  expires?: number;
}

export class AdminTokens {
  /** Token id → when this process last recorded its use. */
  readonly #wrote = new Map<string, number>();

  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
    private readonly clock: Clock,
    private readonly digests: KeyDigests,
  ) {}

  /** The returned value is not stored anywhere. */
  async create(
    input: Pick<TokenRecord, 'name' | 'grant' | 'createdBy'> & { expires?: number | undefined },
  ): Promise<{ token: TokenRecord; value: string }> {
    if ((await this.redis.hlen(this.names.adminTokens)) >= MAX_TOKENS)
      throw new GatewayError('conflict', `There are ${MAX_TOKENS} tokens already; revoke some first.`);
    const { expires, ...rest } = input;
    const value = PREFIX + makeSecret();
    const token: TokenRecord = {
      id: `tok_${makeRequestId()}`,
      ...rest,
      lastFour: value.slice(-4),
      created: this.clock.now(),
      ...(expires === undefined ? {} : { expires }),
    };
    await this.redis.hset(this.names.adminTokens, this.digests.of(value), JSON.stringify(token));
    return { token, value };
  }

  /** Oldest first, each with when it was last used. */
  async list(): Promise<{ token: TokenRecord; lastUsed: number | null }[]> {
    const [tokens, used] = await Promise.all([this.#stored(), this.redis.hgetall(this.names.adminTokenUse)]);
    return tokens
      .map(({ token }) => ({ token, lastUsed: used[token.id] === undefined ? null : Number(used[token.id]) }))
      .sort((a, b) => a.token.created - b.token.created);
  }

  /** Undefined when no token has this id. */
  async revoke(id: string): Promise<TokenRecord | undefined> {
    const found = (await this.#stored()).find(({ token }) => token.id === id);
    if (!found) return undefined;
    await this.redis.hdel(this.names.adminTokens, found.digest);
    await this.redis.hdel(this.names.adminTokenUse, id);
    this.#wrote.delete(id);
    return found.token;
  }

  async find(value: string): Promise<Principal | undefined> {
    if (!TOKEN.test(value)) return undefined;
    const texts = await this.redis.hmget(this.names.adminTokens, ...this.digests.all(value));
    const text = texts.find((each) => each !== null);
    const token = text ? (JSON.parse(text) as TokenRecord) : undefined;
    if (!token || this.#isOver(token)) return undefined;
    await this.#noteUse(token.id);
    return toPrincipal(token);
  }

  /** Whether the token still holds. A session or link that was made with it depends on that. */
  async isAlive(id: string): Promise<boolean> {
    const found = (await this.#stored()).find(({ token }) => token.id === id);
    return found !== undefined && !this.#isOver(found.token);
  }

  #isOver({ expires }: TokenRecord): boolean {
    return expires !== undefined && expires <= this.clock.now();
  }

  async #stored(): Promise<{ digest: string; token: TokenRecord }[]> {
    const stored = await this.redis.hgetall(this.names.adminTokens);
    return Object.entries(stored).map(([digest, text]) => ({
      digest,
      token: JSON.parse(text) as TokenRecord,
    }));
  }

  async #noteUse(id: string): Promise<void> {
    const now = this.clock.now();
    if (now - (this.#wrote.get(id) ?? 0) < USE_EVERY_MS) return;
    this.#wrote.set(id, now);
    await this.redis.hset(this.names.adminTokenUse, id, now);
  }
}

function toPrincipal({ id, name, grant }: TokenRecord): Principal {
  return { name: `token ${name}`, via: 'token', tokenId: id, grants: [grant] };
}
