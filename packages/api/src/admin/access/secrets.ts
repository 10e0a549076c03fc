/** Secrets that we hand out and later recognise: sign-in links and sessions. Redis has only their digests. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const SECRET = /^[\w-]{43}$/;

/** 256 random bits. Nobody guesses them, so that a plain digest is enough. */
export function makeSecret(): string {
  return randomBytes(32).toString('base64url');
}

export function isSecret(text: unknown): text is string {
  return typeof text === 'string' && SECRET.test(text);
}

export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Digests are compared, in constant time: how long it takes tells nothing, not even the length of either. */
export function isSame(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}

/**
 * Binds what was handed out to the ADMIN_TOKEN of that moment: with another token it is worth nothing. The secret is the
 * key, and it is not in Redis, so that whoever reads Redis cannot test guesses of the token.
 */
export function proofOf(rootToken: string, secret: string): string {
  return createHmac('sha256', secret).update(`sluice root ${rootToken}`).digest('hex');
}
