/**
 * Keeps entries on disk when PostgreSQL is away for so long that the log outgrows its share of Redis' memory. A file is
 * complete or does not exist, and is removed when its entries are in the database. Several workers may share a folder,
 * because writing the same file twice does no harm.
 */
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { StreamEntry } from './write-entries.js';

const NAME = /^(\d+-\d+)_(\d+)\.jsonl$/;

export class Spill {
  constructor(private readonly folder: string) {}

  /** After this returns, the entries survive a crash of the machine. */
  async save(entries: readonly StreamEntry[]): Promise<void> {
    const [first] = entries;
    if (!first) return;
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const path = join(this.folder, `${first.id}_${entries.length}.jsonl`);
    const unfinished = `${path}.${process.pid}`;
    const file = await open(unfinished, 'w', 0o600);
    try {
      await file.writeFile(entries.map(({ id, text }) => `${id} ${text}\n`).join(''));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
    const folder = await open(this.folder, 'r');
    await folder.sync().finally(() => folder.close());
  }

  /** How many entries there are. */
  async size(): Promise<number> {
    return (await this.#files()).reduce((sum, name) => sum + Number(NAME.exec(name)?.[2]), 0);
  }

  /** Hands over the files, the oldest first. Each is removed when `write` has resolved. */
  async drain(write: (entries: StreamEntry[]) => Promise<unknown>): Promise<void> {
    for (const name of await this.#files()) {
      const path = join(this.folder, name);
      const text = await readFile(path, 'utf8').catch(ifMissing(''));
      const entries = text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => ({ id: line.slice(0, line.indexOf(' ')), text: line.slice(line.indexOf(' ') + 1) }));
      if (entries.length > 0) await write(entries);
      await rm(path, { force: true });
    }
  }

  async #files(): Promise<string[]> {
    const names = await readdir(this.folder).catch(ifMissing<string[]>([]));
    return names.filter((name) => NAME.test(name)).sort();
  }
}

function ifMissing<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code !== 'ENOENT') throw error;
    return value;
  };
}
