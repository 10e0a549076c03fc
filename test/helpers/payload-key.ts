import { randomBytes } from 'node:crypto';

/** A value for PAYLOAD_KEY, as `openssl rand -base64 32` makes one. */
export function makePayloadKey(): string {
  return randomBytes(32).toString('base64');
}
