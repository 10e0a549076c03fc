import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { MissingObject, type ObjectStore } from './store.js';

/** A folder of this machine, or a volume that all api processes share. */
export class FolderStore implements ObjectStore {
  constructor(private readonly folder: string) {}

  async write(name: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    const path = this.#pathOf(name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const unfinished = `${path}.${randomBytes(6).toString('hex')}.part`;
    try {
      const file = await open(unfinished, 'wx', 0o600);
      try {
        for await (const chunk of bytes) await file.writeFile(chunk);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(unfinished, path);
      await syncFolder(dirname(path));
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }

  async *read(name: string, start: number): AsyncIterable<Buffer> {
    try {
      yield* createReadStream(this.#pathOf(name), { start }) as AsyncIterable<Buffer>;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') throw new MissingObject(name);
      throw error;
    }
  }

  async remove(name: string): Promise<void> {
    await rm(this.#pathOf(name), { force: true });
  }

  #pathOf(name: string): string {
    return join(this.folder, ...name.split('/'));
  }
}

/** Without this a power cut may lose the new name of a file whose bytes are safe. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
