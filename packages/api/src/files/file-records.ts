/**
 * Redis has a small record of each file, the bytes that a workspace has stored, and when each object of the store is to be
 * removed. An object is listed before its first byte is written, so that a process that dies leaves none behind. The name that
 * the caller gave the file is sealed in the record, because it may tell as much as a prompt.
 */
import type { Payloads } from '@sluice/shared/queue/payload';
import { WorkspaceMoved } from '@sluice/shared/queue/workspace-moved';
import { FILE_PURPOSES, type ShardNames } from '@sluice/shared/redis/key-names';
import { OrderedIds } from '@sluice/shared/redis/ordered-ids';
import { loadScript } from '@sluice/shared/redis/script';
import type { Redis } from 'ioredis';

export type FilePurpose = (typeof FILE_PURPOSES)[number];

/** Times are Redis time, in ms. */
export interface FileRecord {
  id: string;
  bytes: number;
  created: number;
  expires: number;
  filename: string;
  purpose: FilePurpose;
  /** The name of the object in the store. */
  object: string;
}

export interface FileQuota {
  maxBytes: number;
  maxFiles: number;
}

/** Stands for a name that is missing or cannot be read. */
export const UNNAMED = 'file.jsonl';

const EXPIRED_AT_ONCE = 100;

interface FileKeys {
  filesKey: string;
  bytesKey: string;
  orderBytesKey: string;
}

interface StoredFileKeys extends FileKeys {
  objectsKey: string;
  orderKeys: readonly string[];
}

const addScript = loadScript<
  '' | 'bytes' | 'files' | 'moved',
  FileKeys & {
    objectsKey: string;
    orderKey: string;
    purposeOrderKey: string;
    fenceKey: string | undefined;
  },
  FileQuota & {
    id: string;
    record: string;
    bytes: number;
    object: string;
    created: number;
    expires: number;
  }
>(import.meta.url, 'add-file');

const removeScript = loadScript<0 | 1, StoredFileKeys, { id: string; bytes: number; object: string }>(
  import.meta.url,
  'remove-file',
);

const mendOrderScript = loadScript<
  0 | 1,
  FileKeys & { orderKey: string; purposeOrderKeys: readonly string[] },
  { purposesAndMissing: readonly string[] }
>(import.meta.url, 'mend-file-order');

export class FileRecords {
  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
    private readonly payloads: Payloads,
    readonly quota: FileQuota,
  ) {}

  /** The object is removed at this moment unless it becomes a file. */
  async expectObject(object: string, until: number): Promise<void> {
    await this.redis.zadd(this.names.fileObjects, String(until), object);
  }

  /** The object is removed at this moment. An object that was removed meanwhile is not listed again. */
  async putOff(object: string, until: number): Promise<void> {
    await this.redis.zadd(this.names.fileObjects, 'XX', String(until), object);
  }

  /** Returns the quota that the file would exceed, if any. */
  async add(
    workspace: string,
    record: FileRecord,
    { maxBytes, maxFiles }: FileQuota,
  ): Promise<'' | 'bytes' | 'files'> {
    const { id, bytes, object, created, expires } = record;
    const filename = this.payloads.seal(record.filename, nameContext(workspace, id));
    const { names } = this;
    const keys = {
      ...this.#keys(workspace),
      objectsKey: names.fileObjects,
      orderKey: names.fileOrder(workspace),
      purposeOrderKey: names.fileOrder(workspace, record.purpose),
      fenceKey: names.fence?.(workspace),
    };
    const exceeded = await addScript(this.redis, keys, {
      id,
      record: JSON.stringify({ ...record, filename }),
      bytes,
      object,
      created,
      expires,
      maxBytes,
      maxFiles,
    });
    if (exceeded === 'moved') throw new WorkspaceMoved();
    return exceeded;
  }

  async find(workspace: string, id: string): Promise<FileRecord | undefined> {
    const record = await this.redis.hget(this.names.files(workspace), id);
    return record === null ? undefined : this.#parse(workspace, record);
  }

  #parse(workspace: string, text: string): FileRecord {
    const record = JSON.parse(text) as FileRecord;
    const filename = this.payloads.tryOpen(record.filename, nameContext(workspace, record.id));
    return { ...record, filename: filename ?? UNNAMED };
  }

  /** The ids by age. Files that an older version has stored or removed are put in order first. */
  async inOrder(
    workspace: string,
    purpose: FilePurpose | undefined,
    order: 'asc' | 'desc',
  ): Promise<OrderedIds> {
    await this.mendOrder(workspace, []);
    return new OrderedIds(this.redis, this.names.fileOrder(workspace, purpose), order);
  }

  /** `missing`: ids that were in the order and have no record. True: the order was made again. */
  async mendOrder(workspace: string, missing: readonly string[]): Promise<boolean> {
    const { names } = this;
    const keys = {
      ...this.#keys(workspace),
      orderKey: names.fileOrder(workspace),
      purposeOrderKeys: FILE_PURPOSES.map((purpose) => names.fileOrder(workspace, purpose)),
    };
    const args = { purposesAndMissing: [...FILE_PURPOSES, ...missing] };
    return (await mendOrderScript(this.redis, keys, args)) === 1;
  }

  /** The records of those that exist, and the ids of the others. */
  async findAll(
    workspace: string,
    ids: readonly string[],
  ): Promise<{ records: FileRecord[]; missing: string[] }> {
    const found = await this.redis.hmget(this.names.files(workspace), ...ids);
    const records = found.flatMap((record) => (record === null ? [] : this.#parse(workspace, record)));
    return { records, missing: ids.filter((_, i) => found[i] === null) };
  }

  async remove(workspace: string, { id, bytes, object, purpose }: FileRecord): Promise<boolean> {
    const keys = this.#storedKeys(workspace, purpose);
    return (await removeScript(this.redis, keys, { id, bytes, object })) === 1;
  }

  async used(workspace: string): Promise<{ bytes: number; files: number }> {
    const [bytes, files] = await Promise.all([
      this.redis.get(this.names.fileBytes(workspace)),
      this.redis.hlen(this.names.files(workspace)),
    ]);
    return { bytes: Number(bytes ?? 0), files };
  }

  /** Objects whose time is over. Their names begin with the workspace and the file. */
  dueObjects(now: number): Promise<string[]> {
    return this.redis.zrangebyscore(this.names.fileObjects, '-inf', now, 'LIMIT', 0, EXPIRED_AT_ONCE);
  }

  async isListed(object: string): Promise<boolean> {
    return (await this.redis.zscore(this.names.fileObjects, object)) !== null;
  }

  async forgetObject(object: string): Promise<void> {
    await this.redis.zrem(this.names.fileObjects, object);
  }

  #keys(workspace: string): FileKeys {
    const { names } = this;
    return {
      filesKey: names.files(workspace),
      bytesKey: names.fileBytes(workspace),
      orderBytesKey: names.fileOrderBytes(workspace),
    };
  }

  #storedKeys(workspace: string, purpose: FilePurpose): StoredFileKeys {
    const { names } = this;
    return {
      ...this.#keys(workspace),
      objectsKey: names.fileObjects,
      orderKeys: [names.fileOrder(workspace), names.fileOrder(workspace, purpose)],
    };
  }
}

function nameContext(workspace: string, id: string): string {
  return `file name\n${workspace}\n${id}`;
}
