/** Sealed bytes: nonce, then ciphertext with its tag. */
import sodium from 'sodium-native';

const NONCE_BYTES = 24;
const EXTRA_BYTES = NONCE_BYTES + 16;
/** Nothing here is secret. */
const KEY = Buffer.alloc(32, 7);

export function seal(text: string): Buffer {
  const message = Buffer.from(text);
  const sealed = Buffer.allocUnsafe(EXTRA_BYTES + message.length);
  const nonce = sealed.subarray(0, NONCE_BYTES);
  sodium.randombytes_buf(nonce);
  const rest = sealed.subarray(NONCE_BYTES);
  sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(rest, message, null, null, nonce, KEY);
  return sealed;
}

/** Throws when the bytes were changed. */
export function open(sealed: Buffer): string {
  const message = Buffer.allocUnsafe(sealed.length - EXTRA_BYTES);
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const rest = sealed.subarray(NONCE_BYTES);
  sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(message, null, rest, null, nonce, KEY);
  return message.toString();
}
