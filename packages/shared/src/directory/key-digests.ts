/**
 * Keys are stored and looked up by their digest, and by nothing shorter: an HMAC-SHA-256 under a secret that Redis does not
 * hold (KEY_PEPPER). A person who reads Redis cannot test guesses. Without the secret the digest is a plain SHA-256.
 */
import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';
import { deriveKey, keyIdOf, type SecretKeyIds, type SecretKeys } from '../process/secret-keys.js';

interface Pepper {
  id: string;
  key: KeyObject;
}

export class KeyDigests {
  readonly #peppers: readonly Pepper[];
  readonly #writer: Pepper | undefined;

  constructor({ keys, writes }: SecretKeys = { keys: [], writes: false }) {
    this.#peppers = keys.map((secret) => ({
      id: keyIdOf(secret, 'pepper'),
      key: createSecretKey(deriveKey(secret, 'pepper')),
    }));
    this.#writer = writes ? this.#peppers[0] : undefined;
  }

  get ids(): SecretKeyIds {
    return { writes: this.#writer?.id ?? null, holds: this.#peppers.map(({ id }) => id) };
  }

  /** The digest that a new key is stored under. */
  of(value: string): string {
    return this.#writer ? keyed(this.#writer, value) : hash('sha256', value);
  }

  /** All digests that a key may be stored under. The key may be older than the secret. */
  all(value: string): string[] {
    return [...this.#peppers.map((pepper) => keyed(pepper, value)), hash('sha256', value)];
  }
}

function keyed({ id, key }: Pepper, value: string): string {
  return `${id}:${createHmac('sha256', key).update(value).digest('hex')}`;
}
