/**
 * Keeps entries on disk when PostgreSQL is away for so long that the log outgrows its share of Redis' memory. A file is
 * complete or does not exist, and is removed when its entries are in the database. Several workers may share a folder,
 * because writing the same file twice does no harm.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ifMissing, removeAbandoned, writeWholeFile } from '@sluice/shared/process/whole-file';
import type { StreamEntry } from './write-entries.js';

const ID = 'id';
/** The first entry's id with a digest behind it, and the number of entries. */
const NAME = /^(\d+-\d+)_(\d+)\.jsonl$/;
/** A live worker writes a file in less time. If it takes longer, it fails and writes the file again. */
const ABANDONED_AFTER_MS = 10_000;

export class Spill {
  constructor(private readonly folder: string) {}

  /** After this returns, the entries survive a crash of the machine. */
  async save(entries: readonly StreamEntry[]): Promise<void> {
    const [first] = entries;
    if (!first) return;
    const text = entries.map(({ id, text }) => `${id} ${text}\n`).join('');
    const path = join(this.folder, `${first.id}${digestOf(text)}_${entries.length}.jsonl`);
    await writeWholeFile(path, [text]);
  }

  /** Tells this folder from all others. It stays when a container with another host name takes the folder over. */
  async id(): Promise<string> {
    const path = join(this.folder, ID);
    const known = await readFile(path, 'utf8').catch(ifMissing(''));
    if (known !== '') return known;
    await writeWholeFile(path, [randomUUID()]);
    return readFile(path, 'utf8');
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
    // The entries of an unfinished file are not acknowledged, so the log still hands them to another worker.
    await removeAbandoned(this.folder, ABANDONED_AFTER_MS);
  }

  async #files(): Promise<string[]> {
    const names = await readdir(this.folder).catch(ifMissing<string[]>([]));
    return names.filter((name) => NAME.test(name)).sort();
  }
}

/** Digits, so that other entries never get the name of a file, even when they begin with the same one. */
function digestOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest();
  return String(bytes.readUIntBE(0, 6)).padStart(15, '0');
}
