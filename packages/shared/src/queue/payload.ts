/**
 * Prompts and answers are encrypted while they lie in Redis: AES-256-GCM, under keys that only api and worker processes
 * hold (PAYLOAD_KEY). The queue moves what `seal` made without looking into it.
 *
 *   sealed text:   U+0001, key id (8 hex digits), base64 of nonce (12 bytes), tag (16 bytes) and ciphertext
 *   sealed bytes:  the byte 2, key id (8 hex digits), nonce, tag and ciphertext; for large requests, which base64 would slow
 *
 * No JSON begins with U+0001 or the byte 2, and the gateway removes U+0001 from upstream's text. So what begins otherwise was
 * never encrypted: a process without a key wrote it, and it is read as it is.
 *
 * A sealed text is bound to a context, such as the id of its request. It cannot be opened in another context.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
  randomFillSync,
} from 'node:crypto';
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
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAX_COUNT = 0xffff_ffff;

/** The warning that a process without a key logs once. */
export const CLEAR_PAYLOADS =
  'PAYLOAD_KEY names no key to encrypt with: prompts and answers are stored in Redis unencrypted';

interface PayloadKey {
  id: string;
  cipher: KeyObject;
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
  readonly #nonces = new Nonces();

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
    return MARK + key.id + Buffer.concat(this.#encrypt(key, text, context)).toString('base64');
  }

  sealBytes(text: string, context: string): Buffer {
    const key = this.#writer;
    if (!key) return Buffer.from(text);
    return Buffer.concat([Buffer.from(BYTES_MARK + key.id), ...this.#encrypt(key, text, context)]);
  }

  #encrypt(key: PayloadKey, text: string, context: string): [nonce: Buffer, tag: Buffer, ciphertext: Buffer] {
    const nonce = this.#nonces.next();
    const cipher = createCipheriv(CIPHER, key.cipher, nonce);
    cipher.setAAD(Buffer.from(context));
    const ciphertext = cipher.update(text, 'utf8');
    cipher.final();
    return [nonce, cipher.getAuthTag(), ciphertext];
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
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    try {
      const decipher = createDecipheriv(CIPHER, key.cipher, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(tag);
      const opened = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
      decipher.final();
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

/**
 * A nonce must never repeat under one key. Random nonces would collide after some billion texts. Eight random bytes per
 * process and a counter do not.
 */
class Nonces {
  readonly #nonce = randomBytes(NONCE_BYTES);
  #count = 0;

  /** The returned nonce is valid until the next call, which changes it in place. */
  next(): Buffer {
    if (this.#count === MAX_COUNT) {
      randomFillSync(this.#nonce);
      this.#count = 0;
    }
    this.#nonce.writeUInt32BE(this.#count++, NONCE_BYTES - 4);
    return this.#nonce;
  }
}

function toPayloadKey(secret: Buffer): PayloadKey {
  return {
    id: keyIdOf(secret, 'payload'),
    cipher: createSecretKey(deriveKey(secret, 'payload cipher')),
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
