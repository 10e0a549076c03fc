/**
 * The sessions of browsers that are signed in. Redis keeps a session under the digest of a secret, which is in the browser's
 * cookie. A session survives a reload and a restart of the api. It ends when it is not used, when it is old, at the
 * sign-out, and when ADMIN_TOKEN changes.
 */
import type { Clock } from '@sluice/shared/redis/clock';
import type { ControlNames } from '@sluice/shared/redis/key-names';
import { loadScript } from '@sluice/shared/redis/script';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Redis } from 'ioredis';
import type { Principal } from './principal.js';
import { digestOf, isSame, makeSecret, proofOf } from './secrets.js';

export const IDLE_MS = 8 * 3_600_000;
export const SESSION_MS = 24 * 3_600_000;
const TOUCH_EVERY_MS = 60_000;
const MAX_SESSIONS = 1_000;

export type SignInWay = 'token' | 'link' | 'oidc';

export interface Session {
  id: string;
  principal: Principal;
  way: SignInWay;
  /** Where the sign-in came from. */
  address: string;
  created: number;
  seen: number;
  /** The session ends at this moment, however much it is used. */
  expires: number;
}

interface SessionRecord extends Session {
  rootProof: string;
}

const touchScript = loadScript<0 | 1, { sessionsKey: string }, { digest: string; session: string }>(
  import.meta.url,
  'touch-session',
);

export class Sessions {
  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
    private readonly clock: Clock,
    private readonly rootToken: string,
  ) {}

  /** A session always gets a new secret, so that a secret from before the sign-in is worthless. */
  async begin(
    principal: Principal,
    way: SignInWay,
    address: string,
  ): Promise<{ secret: string; session: Session }> {
    await this.#makeRoom();
    const secret = makeSecret();
    const now = this.clock.now();
    const session: Session = {
      id: `ses_${makeRequestId()}`,
      principal,
      way,
      address,
      created: now,
      seen: now,
      expires: now + SESSION_MS,
    };
    const record: SessionRecord = { ...session, rootProof: proofOf(this.rootToken, secret) };
    await this.redis.hset(this.names.sessions, digestOf(secret), JSON.stringify(record));
    return { secret, session };
  }

  async find(secret: string): Promise<Session | undefined> {
    const digest = digestOf(secret);
    const text = await this.redis.hget(this.names.sessions, digest);
    if (text === null) return undefined;
    const record = JSON.parse(text) as SessionRecord;
    const now = this.clock.now();
    if (this.#isOver(record) || !isSame(record.rootProof, proofOf(this.rootToken, secret))) return undefined;
    if (now - record.seen >= TOUCH_EVERY_MS)
      await touchScript(
        this.redis,
        { sessionsKey: this.names.sessions },
        { digest, session: JSON.stringify({ ...record, seen: now }) },
      );
    return record;
  }

  async end(secret: string): Promise<void> {
    await this.redis.hdel(this.names.sessions, digestOf(secret));
  }

  /** Newest first. A session that was begun under another ADMIN_TOKEN is worthless, and is listed until it is over. */
  async list(): Promise<Session[]> {
    return (await this.#stored())
      .map(({ session }) => session)
      .filter((session) => !this.#isOver(session))
      .sort((a, b) => b.created - a.created);
  }

  /** Undefined when no session has this id. */
  async endById(id: string): Promise<Session | undefined> {
    const found = (await this.#stored()).find(({ session }) => session.id === id);
    if (!found || (await this.redis.hdel(this.names.sessions, found.digest)) === 0) return undefined;
    return found.session;
  }

  async #stored(): Promise<{ digest: string; session: Session }[]> {
    return Object.entries(await this.redis.hgetall(this.names.sessions)).map(([digest, text]) => ({
      digest,
      session: JSON.parse(text) as Session,
    }));
  }

  #isOver({ seen, expires }: Session): boolean {
    const now = this.clock.now();
    return now >= expires || now - seen >= IDLE_MS;
  }

  /** Removes sessions that are over. If there are too many, it removes those that were unused for longest. */
  async #makeRoom(): Promise<void> {
    const stored = await this.#stored();
    const over = stored.filter(({ session }) => this.#isOver(session));
    const idlest = stored
      .filter(({ session }) => !this.#isOver(session))
      .sort((a, b) => b.session.seen - a.session.seen)
      .slice(MAX_SESSIONS - 1);
    const gone = [...over, ...idlest].map(({ digest }) => digest);
    if (gone.length > 0) await this.redis.hdel(this.names.sessions, ...gone);
  }
}
