/** A folder and a bucket keep files in the same way, encrypted, readable from any place. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@sluice/api/files/open-store';
import { SealedFiles } from '@sluice/api/files/sealed-files';
import { MissingObject, type ObjectStore } from '@sluice/api/files/store';
import { Payloads, UnreadablePayload } from '@sluice/shared/queue/payload';
import anyTest, { type TestFn } from 'ava';
import S3rver from 's3rver';

/** The last one is more than a part of an upload to a bucket. */
const SIZES = [0, 1, 65_535, 65_536, 65_537, 200_000, 5_300_000];
const keys = () => ({ keys: [Buffer.alloc(32, 7)], writes: true });

const test = anyTest as TestFn<{ folder: string; server: S3rver; stores: Record<string, ObjectStore> }>;

test.before(async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-store-'));
  const server = new S3rver({
    port: 0,
    silent: true,
    directory: join(folder, 'bucket'),
    configureBuckets: [{ name: 'files', configs: [] }],
  });
  const { port } = await server.run();
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' });
  const at = { folder: join(folder, 'folder'), endpoint: `http://127.0.0.1:${port}` };
  t.context = {
    folder,
    server,
    stores: {
      'a folder': await openStore({ ...at, bucket: undefined }),
      'a bucket': await openStore({ ...at, bucket: 's3://files/some/prefix' }),
    },
  };
});

test.after.always(async (t) => {
  await t.context.server.close();
  rmSync(t.context.folder, { recursive: true, force: true });
});

async function* inChunks(bytes: Buffer, size: number): AsyncIterable<Buffer> {
  for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size);
}

async function readAll(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

/** No two places of it look the same. */
function makeBytes(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let i = 0; i + 4 <= size; i += 4) bytes.writeUInt32LE(i, i);
  return bytes;
}

for (const kind of ['a folder', 'a bucket']) {
  const storeOf = (t: { context: { stores: Record<string, ObjectStore> } }) =>
    t.context.stores[kind] as ObjectStore;

  test(`${kind} gives back what was stored, from any place`, async (t) => {
    for (const payloads of [new Payloads(keys()), new Payloads()]) {
      const files = new SealedFiles(storeOf(t), payloads);
      for (const size of SIZES) {
        const bytes = makeBytes(size);
        await files.write(`demo/file-${size}`, inChunks(bytes, 50_000));
        const places = size > 1_000_000 ? [0, size - 1] : [0, 1, 65_536, 70_000, size - 1];
        for (const from of places.filter((from) => from >= 0 && from <= size))
          t.true((await readAll(files.read(`demo/file-${size}`, size, from))).equals(bytes.subarray(from)));
        await files.remove(`demo/file-${size}`);
        await files.remove(`demo/file-${size}`);
        if (size > 0)
          await t.throwsAsync(readAll(files.read(`demo/file-${size}`, size)), { instanceOf: MissingObject });
      }
    }
  });

  test(`${kind} has nothing of a file whose source failed`, async (t) => {
    const files = new SealedFiles(storeOf(t), new Payloads(keys()));
    async function* failing() {
      yield makeBytes(100_000);
      throw new Error('the caller hung up');
    }
    await t.throwsAsync(files.write('demo/half', failing()), { message: 'the caller hung up' });
    await t.throwsAsync(readAll(files.read('demo/half', 100_000)), { instanceOf: MissingObject });
  });
}

test('a file cannot be read as another one, shortened, changed, or without its key', async (t) => {
  const store = t.context.stores['a folder'] as ObjectStore;
  const files = new SealedFiles(store, new Payloads(keys()));
  const bytes = makeBytes(200_000);
  await files.write('demo/a', inChunks(bytes, 65_536));
  const path = readdirSync(join(t.context.folder, 'folder/demo')).find((name) => name === 'a') ?? '';
  const sealed = readFileSync(join(t.context.folder, 'folder/demo', path));
  t.is(sealed.indexOf(bytes.subarray(1_000, 1_016)), -1);
  const unreadable = { instanceOf: UnreadablePayload };
  const attempt = async (changed: Buffer, name = 'demo/b') => {
    await store.write(name, inChunks(changed, 65_536));
    await t.throwsAsync(readAll(files.read(name, bytes.length)), unreadable);
  };
  await attempt(sealed);
  await attempt(sealed.subarray(0, 100_000), 'demo/a');
  const flipped = Buffer.from(sealed);
  flipped.writeUInt8(flipped.readUInt8(150_000) ^ 1, 150_000);
  await attempt(flipped, 'demo/a');
  await store.write('demo/a', inChunks(sealed, 65_536));
  const stranger = new SealedFiles(store, new Payloads({ keys: [Buffer.alloc(32, 8)], writes: true }));
  await t.throwsAsync(readAll(stranger.read('demo/a', bytes.length)), unreadable);
  t.true((await readAll(files.read('demo/a', bytes.length))).equals(bytes));
});
