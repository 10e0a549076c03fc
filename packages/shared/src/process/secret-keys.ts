/** Secrets of 32 bytes that a process gets from its environment, and their ids, which are public. */
import { hkdfSync } from 'node:crypto';

/** `writes`: the first key is used for writing. False: all keys are for reading only. */
export interface SecretKeys {
  keys: Buffer[];
  writes: boolean;
}

export interface SecretKeyIds {
  /** The id of the key that this process writes with. Null: it writes without a key. */
  writes: string | null;
  /** Ids of all keys that it can read with. */
  holds: string[];
}

const ID_BYTES = 4;
export const KEY_ID_LENGTH = 2 * ID_BYTES;

/** Makes a key for one purpose. The key reveals neither the secret nor a key for another purpose. */
export function deriveKey(secret: Buffer, purpose: string, bytes = 32): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `sluice ${purpose}`, bytes));
}

/** The id of a secret, in hex. It is derived from the secret, so nobody has to choose names. */
export function keyIdOf(secret: Buffer, purpose: string): string {
  return deriveKey(secret, `${purpose} key id`, ID_BYTES).toString('hex');
}
