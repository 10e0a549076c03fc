/** Files in a bucket of S3, or of a server with the same protocol. An object appears when its upload is complete. */
import { Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { MissingObject, type ObjectStore } from './store.js';

/** An upload has two parts of this size in memory: one that is sent and one that fills. */
const PART_BYTES = 5 * 1024 * 1024;
const DEFAULT_REGION = 'us-east-1';

/** The AWS SDK finds the credentials. */
export class BucketStore implements ObjectStore {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor(address: string, endpoint: string | undefined) {
    const { hostname, pathname } = new URL(address);
    this.#bucket = hostname;
    this.#prefix = pathname.replace(/^\/+|\/+$/g, '');
    this.#client = new S3Client({
      region: process.env.AWS_REGION ?? DEFAULT_REGION,
      ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
      // Some compatible servers do not know the newer checksums. Stored files are authenticated anyway.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
  }

  async write(name: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    const source = Readable.from(bytes, { objectMode: false });
    const upload = new Upload({
      client: this.#client,
      params: { ...this.#place(name), Body: source },
      partSize: PART_BYTES,
      queueSize: 1,
    });
    try {
      await upload.done();
    } finally {
      source.destroy();
    }
  }

  async *read(name: string, start: number): AsyncIterable<Buffer> {
    try {
      const { Body } = await this.#client.send(
        new GetObjectCommand({ ...this.#place(name), Range: `bytes=${start}-` }),
      );
      if (Body instanceof Readable) yield* Body as AsyncIterable<Buffer>;
    } catch (error) {
      if (error instanceof NoSuchKey) throw new MissingObject(name);
      throw error;
    }
  }

  async remove(name: string): Promise<void> {
    await this.#client.send(new DeleteObjectCommand(this.#place(name)));
  }

  #place(name: string) {
    return { Bucket: this.#bucket, Key: this.#prefix === '' ? name : `${this.#prefix}/${name}` };
  }
}
