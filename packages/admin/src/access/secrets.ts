/** Secrets of sign-in links and sessions. Redis has only their digests. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const SECRET = /^[\w-]{43}$/;

/** 256 random bits. Nobody can guess them, so a plain digest is enough. */
export function makeSecret(): string {
  return randomBytes(32).toString('base64url');
}

export function isSecret(text: unknown): text is string {
  return typeof text === 'string' && SECRET.test(text);
}

export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Compares digests in constant time, so that the duration reveals nothing, not even the lengths. */
export function isSame(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}

/**
 * Binds a secret to the current ADMIN_TOKEN. When the token changes, the secret is worthless. The secret is the key of this
 * digest and is not in Redis, so a person who reads Redis cannot test guesses of the token.
 */
export function proofOf(rootToken: string, secret: string): string {
  return createHmac('sha256', secret).update(`sluice root ${rootToken}`).digest('hex');
}
