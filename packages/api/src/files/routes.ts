/** /v1/files, as the official SDKs call it. */
import { Readable } from 'node:stream';
import { GatewayError } from '@sluice/shared/errors';
import type { Logger } from '@sluice/shared/process/logger';
import { UnreadablePayload } from '@sluice/shared/queue/payload';
import { WorkspaceMoved } from '@sluice/shared/queue/workspace-moved';
import { FILE_PURPOSES } from '@sluice/shared/redis/key-names';
import type { Middleware } from 'koa';
import type { DirectoryCache } from '../cell/directory-cache.js';
import type { Authenticated } from '../http/authenticate.js';
import { letSend } from '../http/expect-continue.js';
import { EMPTY_PAGE } from '../http/page.js';
import { allowSlowBody } from '../http/slow-bodies.js';
import type { FileRecord } from './file-records.js';
import type { Files } from './files.js';
import { receiveUpload } from './receive-upload.js';
import { MissingObject } from './store.js';
import { UploadPlaces } from './upload-places.js';

const DEFAULT_EXPIRY_S = 30 * 86_400;
const SHORTEST_EXPIRY_S = 3_600;
/** The fields of a form beside its file. */
const FORM_BYTES = 65_536;

export interface FilesParts {
  files: Files;
  directory: DirectoryCache;
  maxFileBytes: number;
  /** An upload that stands still for so long is given up. */
  idleMs: number;
  logger: Logger;
}

export interface FileObject {
  id: string;
  object: 'file';
  bytes: number;
  created_at: number;
  expires_at: number;
  filename: string;
  purpose: string;
  status: 'processed';
  status_details: null;
}

/** `places`: for the uploads of all shards. `filesOf`: where the workspace is when it has moved during the upload. */
export function createFilesRoutes(
  parts: FilesParts,
  places = new UploadPlaces(),
  filesOf: (workspace: string) => Promise<Files | undefined> = async () => undefined,
) {
  const { files, directory, maxFileBytes, idleMs } = parts;

  const upload: Middleware<Authenticated> = async (ctx) => {
    const { workspace } = ctx.state.key;
    refuseCompressed(ctx.get('content-encoding'));
    const length = Number(ctx.get('content-length') || 0);
    if (length > maxFileBytes + FORM_BYTES) throw tooLarge(maxFileBytes);
    const most = await files.requireRoom(workspace, Math.max(0, length - FORM_BYTES));
    const owner = await directory.findWorkspace(workspace);
    const leave = places.take(workspace);
    const endPatience = allowSlowBody(ctx.req.socket);
    try {
      letSend(ctx.res);
      let filename = '';
      const { fields, stored } = await receiveUpload(ctx.req, { maxFileBytes, idleMs }, (name, bytes) => {
        filename = name;
        return files.write(workspace, bytes, { most });
      });
      if (!stored) throw invalid('file is required.', 'file');
      try {
        const expiresInMs = 1_000 * readForm(fields);
        // An upload may take longer than it takes to delete the workspace, and to make another one of its id.
        if (owner?.created !== (await directory.findWorkspace(workspace))?.created)
          throw new GatewayError('invalid_api_key', 'The workspace of this key was deleted.');
        const file = { filename, purpose: 'batch', expiresInMs } as const;
        const record = await files.keep(workspace, stored, file).catch(async (error) => {
          const elsewhere = error instanceof WorkspaceMoved && (await filesOf(workspace));
          if (!elsewhere) throw error;
          return elsewhere.keep(workspace, stored, file);
        });
        ctx.body = toFileObject(record);
      } catch (error) {
        await files.discard(stored);
        throw error;
      }
    } catch (error) {
      throw toRefusal(error, parts.logger);
    } finally {
      endPatience();
      leave();
    }
  };

  const list: Middleware<Authenticated> = async (ctx) => {
    const { purpose, order = 'desc' } = ctx.query;
    if (order !== 'asc' && order !== 'desc') throw invalid('order must be asc or desc.', 'order');
    const known = FILE_PURPOSES.find((name) => name === purpose);
    if (purpose !== undefined && known === undefined) {
      ctx.body = EMPTY_PAGE;
      return;
    }
    const page = await files.list(ctx.state.key.workspace, { purpose: known, order }, ctx.query);
    ctx.body = { ...page, data: page.data.map(toFileObject) };
  };

  const retrieve: Middleware<Authenticated> = async (ctx) => {
    ctx.body = toFileObject(await files.find(ctx.state.key.workspace, ctx.params.id));
  };

  const content: Middleware<Authenticated> = async (ctx) => {
    const record = await files.find(ctx.state.key.workspace, ctx.params.id);
    const bytes = files.read(record)[Symbol.asyncIterator]();
    // The first piece is read before the answer begins, so that an unreadable file is an error and not a broken answer.
    const first = await bytes.next().catch((error) => {
      throw toRefusal(error, parts.logger);
    });
    ctx.set('content-type', 'application/octet-stream');
    ctx.set('content-disposition', 'attachment');
    ctx.length = record.bytes;
    ctx.body = Readable.from(resume(first, bytes), { objectMode: false });
  };

  const remove: Middleware<Authenticated> = async (ctx) => {
    const { workspace } = ctx.state.key;
    const record = await files.find(workspace, ctx.params.id);
    await files.remove(workspace, record);
    ctx.body = { id: record.id, object: 'file', deleted: true };
  };

  return { upload, list, retrieve, content, remove };
}

async function* resume(first: IteratorResult<Buffer>, rest: AsyncIterator<Buffer>): AsyncIterable<Buffer> {
  for (let next = first; !next.done; next = await rest.next()) yield next.value;
}

export function toFileObject({ id, bytes, created, expires, filename, purpose }: FileRecord): FileObject {
  return {
    id,
    object: 'file',
    bytes,
    created_at: Math.floor(created / 1000),
    expires_at: Math.floor(expires / 1000),
    filename,
    purpose,
    status: 'processed',
    status_details: null,
  };
}

/** Checks the form's fields; returns in how many seconds the file expires. */
function readForm(fields: ReadonlyMap<string, string>): number {
  const purpose = fields.get('purpose');
  if (purpose === undefined) throw invalid('purpose is required.', 'purpose');
  if (purpose !== 'batch') throw invalid('purpose must be "batch".', 'purpose');
  return readExpiry(
    fields.get('expires_after[anchor]'),
    fields.get('expires_after[seconds]'),
    'expires_after',
  );
}

/** The lifetime in seconds. The default is 30 days. */
export function readExpiry(anchor: unknown, seconds: unknown, param: string): number {
  if (anchor === undefined && seconds === undefined) return DEFAULT_EXPIRY_S;
  if (anchor !== 'created_at') throw invalid(`${param}[anchor] must be "created_at".`, `${param}[anchor]`);
  const count = Number(seconds);
  if (!Number.isInteger(count) || count < SHORTEST_EXPIRY_S || count > DEFAULT_EXPIRY_S)
    throw invalid(
      `${param}[seconds] must be a whole number from ${SHORTEST_EXPIRY_S} to ${DEFAULT_EXPIRY_S}.`,
      `${param}[seconds]`,
    );
  return count;
}

/** Compressed uploads are refused, so nothing can grow while it is unpacked. */
function refuseCompressed(encoding: string): void {
  if (encoding !== '' && encoding.toLowerCase() !== 'identity')
    throw new GatewayError('unsupported_media_type', 'The body must not be compressed.');
}

/** Errors of the store go to the log only, because they name paths and hosts. */
export function toRefusal(error: unknown, logger: Logger): unknown {
  if (error instanceof GatewayError) return error;
  if (error instanceof MissingObject) return new GatewayError('not_found', 'The file is gone.');
  const isStore = error instanceof UnreadablePayload || (error instanceof Error && isStoreError(error));
  if (!isStore) return error;
  logger.error({ error: String(error) }, 'the store of files failed');
  return new GatewayError('service_unavailable', 'The store of files cannot be used now.', {
    retryAfterMs: 5_000,
    reason: 'store_away',
  });
}

/** Errors of the file system have a code and a call, those of the AWS SDK have metadata. */
function isStoreError(error: Error): boolean {
  return 'syscall' in error || '$metadata' in error;
}

function invalid(message: string, param: string): GatewayError {
  return new GatewayError('invalid_request', message, { param });
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError('request_too_large', `The file is larger than ${maxBytes} bytes.`, {
    param: 'file',
  });
}
