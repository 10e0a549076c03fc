/**
 * Files are encrypted like prompts, but in pieces, so that they can be written as a stream and read from any place:
 *
 *   "SLUICE1\n", key id (8 characters; all dashes: in clear), salt (16 bytes), then the pieces
 *   a piece: 64 KiB of the file (the last one: what is left), and its tag (16 bytes)
 *
 * Each file has a key of its own, made of the payload key and the salt. A piece is bound to the file's name and its place.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { type Payloads, UnreadablePayload } from '@sluice/shared/queue/payload';
import { MissingObject, type ObjectStore } from './store.js';

const MAGIC = Buffer.from('SLUICE1\n');
const KEY_ID_BYTES = 8;
const SALT_BYTES = 16;
const HEADER_BYTES = MAGIC.length + KEY_ID_BYTES + SALT_BYTES;
const CLEAR = '-'.repeat(KEY_ID_BYTES);
const PIECE_BYTES = 65_536;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

type FileKey = ReturnType<Payloads['fileKey']>;

export class SealedFiles {
  constructor(
    private readonly store: ObjectStore,
    private readonly payloads: Payloads,
  ) {}

  /** The file exists completely or not at all. */
  write(name: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    return this.store.write(name, this.#seal(name, bytes));
  }

  /** `size` is that of the whole file. Throws when the file is shorter or was changed. */
  async *read(name: string, size: number, from = 0): AsyncIterable<Buffer> {
    if (from >= size) return;
    const header = await readHeader(this.store, name);
    const salt = header.subarray(HEADER_BYTES - SALT_BYTES);
    const keyId = header.toString('latin1', MAGIC.length, MAGIC.length + KEY_ID_BYTES);
    const key = keyId === CLEAR ? undefined : this.payloads.fileKeyOf(keyId, salt);
    const tagBytes = key ? TAG_BYTES : 0;

    let index = Math.floor(from / PIECE_BYTES);
    let skip = from % PIECE_BYTES;
    const pieces = inPieces(
      this.store.read(name, HEADER_BYTES + index * (PIECE_BYTES + tagBytes)),
      PIECE_BYTES + tagBytes,
    );
    let left = size - index * PIECE_BYTES;
    for await (const piece of pieces) {
      const opened = key ? openPiece(key, piece, name, index) : piece;
      const expected = Math.min(left, PIECE_BYTES);
      if (opened.length < expected) break;
      left -= expected;
      index += 1;
      yield opened.subarray(skip, expected);
      skip = 0;
      if (left === 0) return;
    }
    throw new UnreadablePayload('a file is shorter than it was');
  }

  remove(name: string): Promise<void> {
    return this.store.remove(name);
  }

  async *#seal(name: string, bytes: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    const salt = randomBytes(SALT_BYTES);
    const key = this.payloads.fileKey(salt);
    yield Buffer.concat([MAGIC, Buffer.from(key?.id ?? CLEAR), salt]);
    let index = 0;
    for await (const piece of inPieces(bytes, PIECE_BYTES))
      if (key) yield* sealPiece(key, piece, name, index++);
      else yield piece;
  }
}

async function readHeader(store: ObjectStore, name: string): Promise<Buffer> {
  for await (const header of inPieces(store.read(name, 0), HEADER_BYTES)) {
    if (header.length === HEADER_BYTES && header.subarray(0, MAGIC.length).equals(MAGIC)) return header;
    throw new UnreadablePayload('a file does not begin as the gateway’s do');
  }
  throw new MissingObject(name);
}

/** Pieces of the same size; the last one may be shorter. */
async function* inPieces(bytes: AsyncIterable<Buffer>, size: number): AsyncIterable<Buffer> {
  let kept: Buffer[] = [];
  let length = 0;
  for await (let chunk of bytes) {
    while (length + chunk.length >= size) {
      const rest = size - length;
      yield Buffer.concat([...kept, chunk.subarray(0, rest)], size);
      chunk = chunk.subarray(rest);
      kept = [];
      length = 0;
    }
    if (chunk.length === 0) continue;
    kept.push(chunk);
    length += chunk.length;
  }
  if (length > 0) yield Buffer.concat(kept, length);
}

function sealPiece(key: NonNullable<FileKey>, piece: Buffer, name: string, index: number): Buffer[] {
  const cipher = createCipheriv(CIPHER, key.cipher, nonceOf(index));
  cipher.setAAD(contextOf(name, index));
  const sealed = cipher.update(piece);
  cipher.final();
  return [sealed, cipher.getAuthTag()];
}

function openPiece(key: NonNullable<FileKey>, piece: Buffer, name: string, index: number): Buffer {
  try {
    const end = piece.length - TAG_BYTES;
    const decipher = createDecipheriv(CIPHER, key.cipher, nonceOf(index), { authTagLength: TAG_BYTES });
    decipher.setAAD(contextOf(name, index));
    decipher.setAuthTag(piece.subarray(end));
    const opened = decipher.update(piece.subarray(0, end));
    decipher.final();
    return opened;
  } catch {
    throw new UnreadablePayload(`a file was changed (payload key ${key.id})`);
  }
}

/** A file's key is used for this file alone, so its pieces may be counted. */
function nonceOf(index: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(index, 8);
  return nonce;
}

function contextOf(name: string, index: number): Buffer {
  return Buffer.from(`file\n${name}\n${index}`);
}
