/** Unfinished files, as a process leaves them that is killed in the middle of a file. */
import { once } from 'node:events';
import { readdirSync, utimesSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { until } from './until.js';
import { spawnWithParent } from './with-parent.js';

const writer = `
import { writeWholeFile } from '${import.meta.resolve('@sluice/shared/process/whole-file')}';
async function* half() {
  yield Buffer.from('the first half');
  await new Promise(() => setInterval(() => {}, 1_000));
}
await writeWholeFile(process.argv[1], half());
`;

/** Kills a process that is writing the file. Returns the path of the unfinished one. */
export async function leaveUnfinished(path: string): Promise<string> {
  const child = spawnWithParent([process.execPath, '--input-type=module', '--eval', writer, path], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const exited = once(child, 'exit');
  const name = await until('an unfinished file', () =>
    listFolder(dirname(path)).find((name) => name.startsWith(`${basename(path)}.`)),
  );
  child.kill('SIGKILL');
  await exited;
  return join(dirname(path), name);
}

/** As if its writer had died an hour ago. */
export function makeOld(path: string): void {
  const hourAgo = Date.now() / 1_000 - 3_600;
  utimesSync(path, hourAgo, hourAgo);
}

export function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
