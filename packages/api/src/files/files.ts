/** The files of workspaces: their records in Redis and their bytes in the store, kept in step. */
import { GatewayError } from '@sluice/shared/errors';
import type { Clock } from '@sluice/shared/redis/clock';
import { makeRequestId } from '@sluice/shared/request-id';
import { type Page, type PageQuery, readPage } from '../http/page.js';
import { type FilePurpose, type FileRecord, type FileRecords, UNNAMED } from './file-records.js';
import type { SealedFiles } from './sealed-files.js';
import { MissingObject } from './store.js';

/** Longer than any upload takes. */
const UNFINISHED_MS = 2 * 3_600_000;
/** A deleted file that a batch still reads is looked at again after this time. */
const HELD_FOR_MS = 10_000;
const MAX_NAME_LENGTH = 255;
const PAGE = { standard: 10_000, most: 10_000 };

/** An object of the store that is not a file yet. */
export interface StoredObject {
  id: string;
  object: string;
  bytes: number;
}

export interface NewFile {
  filename: string;
  purpose: FilePurpose;
  expiresInMs: number;
}

export interface FileList {
  /** Undefined: files of every purpose. */
  purpose: FilePurpose | undefined;
  order: 'asc' | 'desc';
}

export class Files {
  constructor(
    readonly records: FileRecords,
    readonly sealed: SealedFiles,
    private readonly clock: Clock,
    /** The objects that batches under way read. Their bytes stay, although the files may be deleted or expired. */
    private readonly heldObjects: () => Promise<ReadonlySet<string>>,
    /** Whether the workspace lives in this shard. One that has moved has taken its objects along. */
    private readonly isHere?: (workspace: string) => Promise<boolean>,
  ) {}

  /**
   * Stores the bytes as they come, and throws `quota_exceeded` when they are more than `most`. The object is removed later
   * unless it becomes a file.
   */
  async write(
    workspace: string,
    bytes: AsyncIterable<Buffer>,
    { id = `file-${makeRequestId()}`, most = Number.POSITIVE_INFINITY } = {},
  ): Promise<StoredObject> {
    const object = `${workspace}/${id}`;
    await this.records.expectObject(object, this.clock.now() + UNFINISHED_MS);
    const { maxBytes } = this.records.quota;
    let size = 0;
    async function* counted() {
      for await (const chunk of bytes) {
        size += chunk.length;
        if (size > most) throw quotaExceeded(maxBytes, 'bytes');
        yield chunk;
      }
    }
    await this.sealed.write(object, counted());
    return { id, object, bytes: size };
  }

  /** Makes a file of a stored object. Throws `quota_exceeded`, and then the object is gone. */
  async keep(workspace: string, stored: StoredObject, file: NewFile): Promise<FileRecord> {
    const { filename, purpose, expiresInMs } = file;
    const created = this.clock.now();
    const name = plainName(filename);
    const record = { ...stored, created, expires: created + expiresInMs, filename: name, purpose };
    // The answers of a batch are paid for, so they are always kept.
    const quota = purpose === 'batch' ? this.records.quota : UNLIMITED;
    const exceeded = await this.records.add(workspace, record, quota);
    if (exceeded === '') return record;
    await this.discard(stored);
    throw quotaExceeded(this.records.quota[exceeded === 'bytes' ? 'maxBytes' : 'maxFiles'], exceeded);
  }

  async discard({ object }: Pick<StoredObject, 'object'>): Promise<void> {
    await this.sealed.remove(object);
    await this.records.forgetObject(object);
  }

  /**
   * Refuses an upload by what its headers say before a byte of it is stored, and a batch before it begins. Returns how many
   * bytes the workspace may still store.
   */
  async requireRoom(workspace: string, bytes: number): Promise<number> {
    const { maxBytes, maxFiles } = this.records.quota;
    const used = await this.records.used(workspace);
    if (used.bytes + bytes > maxBytes) throw quotaExceeded(maxBytes, 'bytes');
    if (used.files >= maxFiles) throw quotaExceeded(maxFiles, 'files');
    return maxBytes - used.bytes;
  }

  async find(workspace: string, id: string): Promise<FileRecord> {
    const record = await this.records.find(workspace, id);
    if (!record || record.expires <= this.clock.now())
      throw new GatewayError('not_found', 'There is no such file.', { param: 'file_id' });
    return record;
  }

  /** A page of the files by age. */
  async list(workspace: string, { purpose, order }: FileList, query: PageQuery): Promise<Page<FileRecord>> {
    const now = this.clock.now();
    const gone: string[] = [];
    const find = async (ids: string[]) => {
      const { records, missing } = await this.records.findAll(workspace, ids);
      gone.push(...missing);
      return records.filter(({ expires }) => expires > now);
    };
    const read = async () => {
      const ids = await this.records.inOrder(workspace, purpose, order);
      return readPage(ids, find, query, PAGE);
    };
    const page = await read();
    if (gone.length === 0 || !(await this.records.mendOrder(workspace, gone.splice(0)))) return page;
    return read();
  }

  read({ object, bytes }: FileRecord, from = 0): AsyncIterable<Buffer> {
    return this.sealed.read(object, bytes, from);
  }

  /** Whether a read failed because the object was removed. An object that is listed is out of reach: a folder is not mounted. */
  async wasRemoved(object: string, error: unknown): Promise<boolean> {
    return error instanceof MissingObject && !(await this.records.isListed(object));
  }

  async remove(workspace: string, record: FileRecord): Promise<void> {
    if (!(await this.records.remove(workspace, record))) return;
    if (!(await this.heldObjects()).has(record.object)) await this.discard(record);
  }

  /** Removes the objects that are due. Several api processes may do it at once. */
  async removeDue(): Promise<void> {
    const due = await this.#ofHere(await this.records.dueObjects(this.clock.now()));
    if (due.length === 0) return;
    for (const object of due) {
      const [workspace = '', id = ''] = object.split('/');
      const record = await this.records.find(workspace, id);
      if (record?.object === object) await this.records.remove(workspace, record);
    }
    // No batch begins with a file that has no record, so nobody else comes to hold these.
    const held = await this.heldObjects();
    for (const object of due) {
      if (held.has(object)) await this.records.putOff(object, this.clock.now() + HELD_FOR_MS);
      else await this.discard({ object });
    }
  }

  /** A process that stood still while its workspace moved may have listed an object here that is a file elsewhere. */
  async #ofHere(objects: string[]): Promise<string[]> {
    if (!this.isHere) return objects;
    const here: string[] = [];
    for (const object of objects) {
      if (await this.isHere(object.split('/')[0] ?? '')) here.push(object);
      else await this.records.forgetObject(object);
    }
    return here;
  }
}

const UNLIMITED = { maxBytes: Number.MAX_SAFE_INTEGER, maxFiles: Number.MAX_SAFE_INTEGER };

/** The printable last part of a path. It is only shown. */
function plainName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  return last.replace(/\p{C}/gu, '').slice(0, MAX_NAME_LENGTH) || UNNAMED;
}

function quotaExceeded(most: number, of: 'bytes' | 'files'): GatewayError {
  return new GatewayError(
    'quota_exceeded',
    `This workspace may store ${most} ${of}. Delete files that are not needed any more.`,
    { param: 'file' },
  );
}
