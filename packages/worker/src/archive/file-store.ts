/** Where the log's files go. A file is whole or not there, and writing it again replaces it. */
import { createWriteStream } from 'node:fs';
import { mkdir, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Gzip } from 'node:zlib';

export interface FileStore {
  write(name: string, lines: AsyncIterable<string>, gzip: Gzip): Promise<void>;
  close(): void;
}

export class FolderStore implements FileStore {
  constructor(private readonly folder: string) {}

  async write(name: string, lines: AsyncIterable<string>, gzip: Gzip): Promise<void> {
    const path = join(this.folder, name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const unfinished = `${path}.${process.pid}`;
    await pipeline(Readable.from(lines), gzip, createWriteStream(unfinished, { mode: 0o600 }));
    const file = await open(unfinished, 'r+');
    await file.sync().finally(() => file.close());
    await rename(unfinished, path);
    const folder = await open(dirname(path), 'r');
    await folder.sync().finally(() => folder.close());
  }

  close(): void {}
}

/** A bucket of S3, or of a server that speaks its protocol. The SDK is loaded only where there is one: it is large. */
export async function openBucket(address: string, endpoint: string | undefined): Promise<FileStore> {
  const [{ S3Client }, { Upload }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('@aws-sdk/lib-storage'),
  ]);
  const { hostname, pathname } = new URL(address);
  const prefix = pathname.replace(/^\/+|\/+$/g, '');
  const client = new S3Client({
    region: process.env.AWS_REGION ?? 'us-east-1',
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    // Not every server that speaks the protocol knows the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  return {
    async write(name, lines, gzip) {
      const source = Readable.from(lines);
      source.on('error', (error) => gzip.destroy(error));
      const body = source.pipe(gzip);
      const params = { Bucket: hostname, Key: prefix === '' ? name : `${prefix}/${name}`, Body: body };
      // Parts become an object when all of them are there.
      await new Upload({ client, params, queueSize: 1 }).done();
    },
    close: () => client.destroy(),
  };
}

export function openFileStore(place: string, endpoint: string | undefined): Promise<FileStore> {
  return place.startsWith('s3://') ? openBucket(place, endpoint) : Promise.resolve(new FolderStore(place));
}
