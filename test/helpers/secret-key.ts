import { randomBytes } from 'node:crypto';

/** A value for PAYLOAD_KEY or KEY_PEPPER, as `openssl rand -base64 32` makes one. */
export function makeSecretKey(): string {
  return randomBytes(32).toString('base64');
}
