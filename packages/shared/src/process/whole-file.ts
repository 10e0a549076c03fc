/**
 * Files that are whole or do not exist. A file is written under a name of its own and renamed when its bytes are on the
 * disk. A process that is killed on the way leaves an unfinished file behind, and the functions here remove it.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const UNFINISHED = /\.[0-9a-f]{12}\.part$/;

/** After this returns, the file survives a crash of the machine. Several processes may write the same file at once. */
export async function writeWholeFile(
  path: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<string>,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const unfinished = `${path}.${randomBytes(6).toString('hex')}.part`;
  try {
    const file = await open(unfinished, 'wx', 0o600);
    try {
      for await (const chunk of chunks) await file.writeFile(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  // Without this a power cut may lose the new name of a file whose bytes are safe.
  const folder = await open(dirname(path), 'r');
  await folder.sync().finally(() => folder.close());
}

/** Removes what killed writers of this file left. A live writer of the same file fails, and has to write it again. */
export async function removeUnfinished(path: string): Promise<void> {
  for (const name of await listUnfinished(dirname(path)))
    if (name.replace(UNFINISHED, '') === basename(path)) await rm(join(dirname(path), name), { force: true });
}

/** Removes the unfinished files of a folder that have not grown for so long that their writers must be gone. */
export async function removeAbandoned(folder: string, afterMs: number): Promise<void> {
  for (const name of await listUnfinished(folder)) {
    const path = join(folder, name);
    const grown = await stat(path).then(({ mtimeMs }) => mtimeMs, ifMissing(undefined));
    if (grown !== undefined && Date.now() - grown > afterMs) await rm(path, { force: true });
  }
}

async function listUnfinished(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(ifMissing<string[]>([]))).filter((name) => UNFINISHED.test(name));
}

/** For `catch`: a missing file or folder is this value, and every other error is thrown. */
export function ifMissing<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code !== 'ENOENT') throw error;
    return value;
  };
}
