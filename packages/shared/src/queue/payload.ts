/**
 * Prompts and answers are encrypted while they lie in Redis: XChaCha20-Poly1305, under keys that only api and worker processes
 * hold (PAYLOAD_KEY). The queue moves what `seal` made without looking into it. Every request is sealed and opened twice, and
 * libsodium needs no object for it, as Node's ciphers do.
 *
 *   sealed text:   U+0001, key id (8 hex digits), base64 of nonce (24 bytes), ciphertext and tag (16 bytes)
 *   sealed bytes:  the byte 2, key id (8 hex digits), nonce, ciphertext and tag; for large requests, which base64 would slow
 *
 * No JSON begins with U+0001 or the byte 2, and the gateway removes U+0001 from upstream's text. So what begins otherwise was
 * never encrypted: a process without a key wrote it, and it is read as it is.
 *
 * A sealed text is bound to a context, such as the id of its request. It cannot be opened in another context.
 */
import { createHmac, createSecretKey, hash, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import sodium from 'sodium-native';
import type { ErrorInfo } from '../errors.js';
import {
  deriveKey,
  KEY_ID_LENGTH,
  keyIdOf,
  type SecretKeyIds,
  type SecretKeys,
} from '../process/secret-keys.js';
import type { ChatJob } from './job.js';

const MARK = '\u0001';
const BYTES_MARK = '\u0002';
const HEADER_LENGTH = MARK.length + KEY_ID_LENGTH;
const NONCE_BYTES = sodium.crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
const TAG_BYTES = sodium.crypto_aead_xchacha20poly1305_ietf_ABYTES;

/** The warning that a process without a key logs once. */
export const CLEAR_PAYLOADS =
  'PAYLOAD_KEY names no key to encrypt with: prompts and answers are stored in Redis unencrypted';

interface PayloadKey {
  id: string;
  cipher: Buffer;
  fingerprint: KeyObject;
  /** The keys of files are derived from this key. */
  files: KeyObject;
}

/** The key of one file. */
export interface FileKey {
  /** The id of the payload key from which the file key is derived. */
  id: string;
  cipher: KeyObject;
}

/** A sealed text that this process cannot open. Its message names the key id and nothing secret. */
export class UnreadablePayload extends Error {
  override readonly name = 'UnreadablePayload';
}

export class Payloads {
  readonly #keys: readonly PayloadKey[];
  readonly #writer: PayloadKey | undefined;
  /**
   * A nonce must never repeat under one key. Each process counts from a random number of 24 bytes, so that the numbers of two
   * processes do not meet.
   */
  readonly #nonce = randomBytes(NONCE_BYTES);

  /** The first key encrypts unless `writes` is false. All keys decrypt. Without a key, texts stay in clear. */
  constructor({ keys, writes }: SecretKeys = { keys: [], writes: false }) {
    this.#keys = keys.map(toPayloadKey);
    this.#writer = writes ? this.#keys[0] : undefined;
  }

  get keyIds(): SecretKeyIds {
    return { writes: this.#writer?.id ?? null, holds: this.#keys.map(({ id }) => id) };
  }

  seal(text: string, context: string): string {
    const key = this.#writer;
    if (!key) return text;
    return MARK + key.id + this.#encrypt(key, text, context, 0).toString('base64');
  }

  sealBytes(text: string, context: string): Buffer {
    const key = this.#writer;
    if (!key) return Buffer.from(text);
    const sealed = this.#encrypt(key, text, context, HEADER_LENGTH);
    sealed.write(BYTES_MARK + key.id, 'latin1');
    return sealed;
  }

  /** Leaves `room` bytes free at the start. The text is encrypted in its place. */
  #encrypt(key: PayloadKey, text: string, context: string, room: number): Buffer {
    const length = Buffer.byteLength(text);
    const sealed = Buffer.allocUnsafe(room + NONCE_BYTES + length + TAG_BYTES);
    const box = sealed.subarray(room + NONCE_BYTES);
    box.write(text);
    sodium.sodium_increment(this.#nonce);
    this.#nonce.copy(sealed, room);
    sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
      box,
      box.subarray(0, length),
      Buffer.from(context),
      null,
      this.#nonce,
      key.cipher,
    );
    return sealed;
  }

  isSealed(text: string): boolean {
    return text.startsWith(MARK);
  }

  /** Throws `UnreadablePayload`. */
  open(text: string, context: string): string {
    if (!this.isSealed(text)) return text;
    const id = text.slice(MARK.length, HEADER_LENGTH);
    return this.#decrypt(id, Buffer.from(text.slice(HEADER_LENGTH), 'base64'), context).toString();
  }

  /** For a text that is only shown. Undefined: it was sealed with a key that is not held any more. */
  tryOpen(text: string, context: string): string | undefined {
    try {
      return this.open(text, context);
    } catch (error) {
      if (error instanceof UnreadablePayload) return undefined;
      throw error;
    }
  }

  /** Opens bytes that `sealBytes` made, and the bytes of a sealed text. Throws `UnreadablePayload`. */
  openBytes(bytes: Buffer, context: string): Buffer {
    if (bytes[0] === MARK.charCodeAt(0)) return Buffer.from(this.open(bytes.toString('latin1'), context));
    if (bytes[0] !== BYTES_MARK.charCodeAt(0)) return bytes;
    const id = bytes.toString('latin1', BYTES_MARK.length, HEADER_LENGTH);
    return this.#decrypt(id, bytes.subarray(HEADER_LENGTH), context);
  }

  #decrypt(id: string, bytes: Buffer, context: string): Buffer {
    const key = this.#held(id);
    try {
      const box = bytes.subarray(NONCE_BYTES);
      const opened = Buffer.allocUnsafe(box.length - TAG_BYTES);
      sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
        opened,
        null,
        box,
        Buffer.from(context),
        bytes.subarray(0, NONCE_BYTES),
        key.cipher,
      );
      return opened;
    } catch {
      throw new UnreadablePayload(`it was changed, or belongs to another request (payload key ${id})`);
    }
  }

  /** The key for a new file with this salt. Undefined: files are stored in clear. */
  fileKey(salt: Buffer): FileKey | undefined {
    return this.#writer && toFileKey(this.#writer, salt);
  }

  /** The key for a file that was written with payload key `id`. Throws `UnreadablePayload`. */
  fileKeyOf(id: string, salt: Buffer): FileKey {
    return toFileKey(this.#held(id), salt);
  }

  #held(id: string): PayloadKey {
    const key = this.#keys.find((key) => key.id === id);
    if (key) return key;
    throw new UnreadablePayload(`it is encrypted with payload key ${printable(id)}, which is not held here`);
  }

  /**
   * Digests that tell whether two texts are the same. They reveal nothing without the key. Keep the first. A kept digest may
   * equal any of them, because the keys may have changed since.
   */
  fingerprints(text: string): [string, ...string[]] {
    const keyed = this.#keys.map(({ id, fingerprint }) => {
      return `${id}:${createHmac('sha256', fingerprint).update(text).digest('hex')}`;
    });
    const plain = hash('sha256', text);
    const [first] = keyed;
    return this.#writer && first !== undefined ? [first, ...keyed.slice(1), plain] : [plain, ...keyed];
  }
}

/** The error text is sealed, because an upstream's error may quote the prompt. */
export function sealError(payloads: Payloads, error: ErrorInfo, context: string): ErrorInfo {
  return mapTexts(error, (text) => payloads.seal(text, context));
}

export function openError(payloads: Payloads, error: ErrorInfo, context: string): ErrorInfo {
  return mapTexts(error, (text) => payloads.open(text, context));
}

function mapTexts(error: ErrorInfo, map: (text: string) => string): ErrorInfo {
  const mapped = { ...error, message: map(error.message) };
  if (typeof error.param === 'string') mapped.param = map(error.param);
  return mapped;
}

export type RequestIdentity = Pick<ChatJob, 'workspace' | 'requestId' | 'idempotency'>;

export function requestContext({ workspace, requestId }: RequestIdentity): string {
  return `request\n${workspace}\n${requestId}`;
}

export function responseContext({ workspace, requestId }: RequestIdentity): string {
  return `response\n${workspace}\n${requestId}`;
}

/** The caller's body. Throws `UnreadablePayload`. */
export function openRequest(
  payloads: Payloads,
  job: RequestIdentity & Pick<ChatJob, 'request'>,
): string | Buffer {
  const context = requestContext(job);
  if (typeof job.request === 'string') return payloads.open(job.request, context);
  return payloads.openBytes(job.request, context);
}

/** An answer to an Idempotency-Key belongs to all requests with that key, not only to the one that ran. */
export function answerContext({ workspace, requestId, idempotency }: RequestIdentity): string {
  if (idempotency !== undefined) return `idempotent answer\n${workspace}\n${idempotency}`;
  return `answer\n${workspace}\n${requestId}`;
}

function toPayloadKey(secret: Buffer): PayloadKey {
  return {
    id: keyIdOf(secret, 'payload'),
    cipher: deriveKey(secret, 'payload cipher xchacha20'),
    fingerprint: createSecretKey(deriveKey(secret, 'payload fingerprint')),
    files: createSecretKey(deriveKey(secret, 'payload files')),
  };
}

function toFileKey({ id, files }: PayloadKey, salt: Buffer): FileKey {
  return { id, cipher: createSecretKey(Buffer.from(hkdfSync('sha256', files, salt, 'sluice file', 32))) };
}

function printable(id: string): string {
  return /^[0-9a-f]*$/.test(id) ? id : 'of an unknown form';
}
