/**
 * Redis has a small record of each file, the bytes that a workspace has stored, and when each object of the store is to be
 * removed. An object is listed before its first byte is written, so that a process that dies leaves none behind.
 */
import type { KeyNames } from '@sluice/shared/redis/key-names';
import { createScript } from '@sluice/shared/redis/script';
import type { Redis } from 'ioredis';

export type FilePurpose = 'batch' | 'batch_output';

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

const EXPIRED_AT_ONCE = 100;

const addScript = createScript<'' | 'bytes' | 'files'>(
  'sluiceAddFile',
  `
local filesKey, bytesKey, objectsKey = unpack(KEYS)
local id, record, bytes, object, expires, maxBytes, maxFiles = unpack(ARGV)
if redis.call('HEXISTS', filesKey, id) == 1 then
  redis.call('ZADD', objectsKey, expires, object)
  return ''
end
if redis.call('HLEN', filesKey) >= tonumber(maxFiles) then return 'files' end
if tonumber(redis.call('GET', bytesKey) or '0') + tonumber(bytes) > tonumber(maxBytes) then return 'bytes' end
redis.call('HSET', filesKey, id, record)
redis.call('INCRBY', bytesKey, bytes)
redis.call('ZADD', objectsKey, expires, object)
return ''
`,
);

/** The object itself becomes due, and `removeDue` of files.ts removes it. */
const removeScript = createScript<0 | 1>(
  'sluiceRemoveFile',
  `
local filesKey, bytesKey, objectsKey = unpack(KEYS)
local id, bytes, object = unpack(ARGV)
if redis.call('HDEL', filesKey, id) == 0 then return 0 end
redis.call('DECRBY', bytesKey, bytes)
redis.call('ZADD', objectsKey, 0, object)
return 1
`,
);

export class FileRecords {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
    readonly quota: FileQuota,
  ) {}

  /** The object is removed at this moment unless it becomes a file. */
  async expectObject(object: string, until: number): Promise<void> {
    await this.redis.zadd(this.names.fileObjects, String(until), object);
  }

  /** Returns the quota that the file would exceed, if any. */
  add(
    workspace: string,
    record: FileRecord,
    { maxBytes, maxFiles }: FileQuota,
  ): Promise<'' | 'bytes' | 'files'> {
    return addScript(this.redis, this.#keys(workspace), [
      record.id,
      JSON.stringify(record),
      record.bytes,
      record.object,
      record.expires,
      maxBytes,
      maxFiles,
    ]);
  }

  async find(workspace: string, id: string): Promise<FileRecord | undefined> {
    const record = await this.redis.hget(this.names.files(workspace), id);
    return record === null ? undefined : (JSON.parse(record) as FileRecord);
  }

  async list(workspace: string): Promise<FileRecord[]> {
    const records = await this.redis.hvals(this.names.files(workspace));
    return records.map((record) => JSON.parse(record) as FileRecord);
  }

  async remove(workspace: string, { id, bytes, object }: FileRecord): Promise<boolean> {
    return (await removeScript(this.redis, this.#keys(workspace), [id, bytes, object])) === 1;
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

  async forgetObject(object: string): Promise<void> {
    await this.redis.zrem(this.names.fileObjects, object);
  }

  #keys(workspace: string): string[] {
    const { names } = this;
    return [names.files(workspace), names.fileBytes(workspace), names.fileObjects];
  }
}
