/** Secrets of 32 bytes that a process is given, and what is told about them: their ids. */
import { hkdfSync } from 'node:crypto';

/** `writes`: what is written is made with the first key. False: the keys are for reading only. */
export interface SecretKeys {
  keys: Buffer[];
  writes: boolean;
}

export interface SecretKeyIds {
  /** Id of the key that this process writes with. Null: with none. */
  writes: string | null;
  /** Ids of all keys that it can read with. */
  holds: string[];
}

const ID_BYTES = 4;
export const KEY_ID_LENGTH = 2 * ID_BYTES;

/** A key for one purpose. It tells nothing about the secret, nor about the key for another purpose. */
export function deriveKey(secret: Buffer, purpose: string, bytes = 32): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `sluice ${purpose}`, bytes));
}

/** Names a secret, in hex. Derived, so that nobody has to give it a name and no two places can disagree. */
export function keyIdOf(secret: Buffer, purpose: string): string {
  return deriveKey(secret, `${purpose} key id`, ID_BYTES).toString('hex');
}
