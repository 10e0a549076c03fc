import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { removeUnfinished, writeWholeFile } from '@sluice/shared/process/whole-file';
import { MissingObject, type ObjectStore } from './store.js';

/** A folder of this machine, or a volume that all api processes share. */
export class FolderStore implements ObjectStore {
  constructor(private readonly folder: string) {}

  async write(name: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    await writeWholeFile(this.#pathOf(name), bytes);
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
    await removeUnfinished(this.#pathOf(name));
  }

  #pathOf(name: string): string {
    return join(this.folder, ...name.split('/'));
  }
}
