/** Reads `multipart/form-data` as a stream. The file goes to the store chunk by chunk, and is never in memory as a whole. */
import type { IncomingMessage } from 'node:http';
import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { GatewayError } from '@sluice/shared/errors';

const MAX_FIELDS = 16;
const MAX_FIELD_BYTES = 4_096;

export interface UploadLimits {
  maxFileBytes: number;
  /** An upload that sends nothing for so long is given up. */
  idleMs: number;
}

export interface Upload<Stored> {
  /** The fields of the form, as text. */
  fields: ReadonlyMap<string, string>;
  stored: Stored | undefined;
}

/**
 * `store` gets the file while it arrives. When something goes wrong, the source of `store` throws, and `store` ends before
 * this function does. The rest of a refused body is read and dropped, so that the caller sees the answer.
 */
export function receiveUpload<Stored>(
  request: IncomingMessage,
  { maxFileBytes, idleMs }: UploadLimits,
  store: (filename: string, bytes: AsyncIterable<Buffer>) => Promise<Stored>,
): Promise<Upload<Stored>> {
  const busboy = openParser(request, maxFileBytes);
  return new Promise((resolve, reject) => {
    const fields = new Map<string, string>();
    let stream: BusboyFileStream | undefined;
    let storing: Promise<Stored> | undefined;
    let heard = performance.now();
    let failed = false;

    const note = () => {
      heard = performance.now();
    };
    const stopWatching = () => {
      clearInterval(watch);
      request.off('data', note).off('close', cut).off('error', cut);
    };
    const fail = (error: unknown) => {
      if (failed) return;
      failed = true;
      stopWatching();
      request.unpipe(busboy);
      request.resume();
      const refusal = error instanceof Error ? error : unreadable();
      stream?.destroy(refusal);
      const over = () => reject(refusal);
      Promise.resolve(storing).then(over, over);
    };
    const cut = () => {
      if (!request.complete) fail(unreadable());
    };
    const watch = setInterval(() => {
      if (performance.now() - heard > idleMs) fail(invalid('The upload came too slowly.', null));
    }, 1_000);
    request.on('data', note).on('close', cut).on('error', cut);

    busboy.on('field', (name, value, _nameCut, valueCut) => {
      if (valueCut) fail(invalid(`${shown(name)} is too long.`, shown(name)));
      else fields.set(name, value);
    });
    busboy.on('file', (name, file, filename) => {
      file.on('error', () => {});
      if (name !== 'file' || storing) {
        file.resume();
        fail(invalid('Send one file, as the field "file".', 'file'));
        return;
      }
      stream = file;
      file.once('limit', () => fail(tooLarge(maxFileBytes)));
      storing = store(filename ?? '', file as AsyncIterable<Buffer>);
      storing.catch(fail);
    });
    for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const)
      busboy.once(limit, () => fail(invalid('The form has too many fields.', null)));
    busboy.on('error', () => fail(unreadable()));
    busboy.once('finish', () => {
      if (failed) return;
      stopWatching();
      Promise.resolve(storing).then((stored) => resolve({ fields, stored }), fail);
    });
    request.pipe(busboy);
  });
}

function openParser(request: IncomingMessage, maxFileBytes: number): BusboyInstance {
  const type = request.headers['content-type'];
  if (type === undefined || !/^multipart\/form-data\s*;/i.test(type)) throw notMultipart();
  try {
    return new Busboy({
      headers: { ...request.headers, 'content-type': type } as BusboyHeaders,
      limits: {
        fieldNameSize: 100,
        fieldSize: MAX_FIELD_BYTES,
        fields: MAX_FIELDS,
        files: 2,
        parts: MAX_FIELDS + 1,
        headerPairs: 20,
        headerSize: 4_096,
        // The parser stops at this size, and a file that has more is refused.
        fileSize: maxFileBytes,
      },
    });
  } catch {
    throw notMultipart();
  }
}

/** A field's name is the caller's: it is quoted only when it is a plain one. */
function shown(name: string): string {
  return /^[\w[\]]{1,40}$/.test(name) ? name : 'A field';
}

function invalid(message: string, param: string | null): GatewayError {
  return new GatewayError('invalid_request', message, { param });
}

function unreadable(): GatewayError {
  return invalid('The form could not be read to its end.', null);
}

function notMultipart(): GatewayError {
  return new GatewayError('unsupported_media_type', 'Send the file as content-type: multipart/form-data.');
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('request_too_large', `The file is larger than ${maxBytes} bytes.`, {
    param: 'file',
  });
}
