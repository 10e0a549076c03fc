/** Where the log's files go. A file is whole or not there, and writing it again replaces it. */
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Gzip } from 'node:zlib';
import { removeUnfinished, writeWholeFile } from '@sluice/shared/process/whole-file';

const CONNECT_MS = 10_000;
/** A part of an upload has 5 MB. */
const PART_MS = 120_000;

export interface FileStore {
  write(name: string, lines: AsyncIterable<string>, gzip: Gzip): Promise<void>;
  close(): void;
}

export class FolderStore implements FileStore {
  constructor(private readonly folder: string) {}

  async write(name: string, lines: AsyncIterable<string>, gzip: Gzip): Promise<void> {
    const path = join(this.folder, name);
    await writeWholeFile(path, compress(lines, gzip));
    await removeUnfinished(path);
  }

  close(): void {}
}

/** Nothing is read before somebody reads this. */
async function* compress(lines: AsyncIterable<string>, gzip: Gzip): AsyncGenerator<Buffer> {
  const source = Readable.from(lines);
  source.on('error', (error) => gzip.destroy(error));
  try {
    yield* source.pipe(gzip);
  } finally {
    source.destroy();
  }
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
    requestHandler: { connectionTimeout: CONNECT_MS, requestTimeout: PART_MS, throwOnRequestTimeout: true },
    // Not every server that speaks the protocol knows the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  return {
    async write(name, lines, gzip) {
      const key = prefix === '' ? name : `${prefix}/${name}`;
      const params = { Bucket: hostname, Key: key, Body: Readable.from(compress(lines, gzip)) };
      // Parts become an object when all of them are there.
      await new Upload({ client, params, queueSize: 1 }).done();
    },
    close: () => client.destroy(),
  };
}

export function openFileStore(place: string, endpoint: string | undefined): Promise<FileStore> {
  return place.startsWith('s3://') ? openBucket(place, endpoint) : Promise.resolve(new FolderStore(place));
}
