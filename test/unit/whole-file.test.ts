/** A process that is killed in the middle of a file leaves nothing behind for good. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createGzip } from 'node:zlib';
import { FolderStore as ObjectFolder } from '@sluice/api/files/folder-store';
import { FolderStore as LogFolder } from '@sluice/worker/archive/file-store';
import { Spill } from '@sluice/worker/archive/spill';
import test from 'ava';
import { leaveUnfinished, listFolder, makeOld } from '../helpers/unfinished-file.js';

const folder = mkdtempSync(join(tmpdir(), 'sluice-whole-'));
test.after.always(() => rmSync(folder, { recursive: true, force: true }));

async function* lines() {
  yield '{"id":"a"}\n';
}

test('an unfinished file of spilled entries is no entry, and is removed when its worker is long gone', async (t) => {
  const spill = new Spill(join(folder, 'spill'));
  await spill.save([{ id: '2-0', text: '{}' }]);
  const old = await leaveUnfinished(join(folder, 'spill', '1-0_2.jsonl'));
  makeOld(old);
  const fresh = await leaveUnfinished(join(folder, 'spill', '3-0_2.jsonl'));
  t.is(await spill.size(), 1);
  const ids: string[] = [];
  await spill.drain(async (entries) => ids.push(...entries.map(({ id }) => id)));
  t.deepEqual(ids, ['2-0']);
  t.deepEqual(listFolder(join(folder, 'spill')), [basename(fresh)], 'a live worker may be writing it');
});

test('a worker that writes a file of the log again removes what the one before it left', async (t) => {
  const other = await leaveUnfinished(join(folder, 'log', '10', 'b.jsonl.gz'));
  await leaveUnfinished(join(folder, 'log', '10', 'a.jsonl.gz'));
  await new LogFolder(join(folder, 'log')).write('10/a.jsonl.gz', lines(), createGzip());
  t.deepEqual(listFolder(join(folder, 'log', '10')).sort(), ['a.jsonl.gz', basename(other)]);
});

test('an object that is removed leaves no unfinished one behind', async (t) => {
  const store = new ObjectFolder(join(folder, 'objects'));
  await leaveUnfinished(join(folder, 'objects', 'demo', 'file-1'));
  const other = await leaveUnfinished(join(folder, 'objects', 'demo', 'file-12'));
  await store.remove('demo/file-1');
  t.deepEqual(listFolder(join(folder, 'objects', 'demo')), [basename(other)]);
});
