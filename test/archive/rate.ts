/** How many rows a second one archiver sustains. */
import { join } from 'node:path';
import { openDatabase, schemaOf } from '@sluice/shared/archive/database';
import { migrate } from '@sluice/shared/archive/migrate';
import { makePartitions } from '@sluice/worker/archive/partitions';
import { EntryWriter } from '@sluice/worker/archive/write-entries';
import { startTestPostgres } from '../helpers/test-postgres.js';
import { makeEntry } from './entries.js';
import type { Shown } from './shown.js';

const BATCH = 500;
const PROGRESS_EVERY = 50_000;

export async function showRate(folder: string, entries: number, say: (line: string) => void): Promise<Shown> {
  const postgres = await startTestPostgres(join(folder, 'postgres'));
  const database = openDatabase(postgres.ownerUrl, { connections: 1, statementMs: 60_000 });
  const schema = schemaOf('rate');
  await migrate(database, schema);
  await makePartitions(database, schema, Date.now());
  const writer = new EntryWriter(database, schema, (problem) => say(problem));
  let written = 0;
  const before = process.cpuUsage();
  const started = performance.now();
  for (let i = 0; i < entries; i += BATCH) {
    written += await writer.write(Array.from({ length: BATCH }, (_, j) => makeEntry(i + j)));
    if (written % PROGRESS_EVERY === 0) say(`${written} of ${entries} rows`);
  }
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(before);
  await database.end();
  await postgres.stop();
  const expected = Math.ceil(entries / BATCH) * BATCH;
  return {
    rows: [
      ['Rows', written.toLocaleString('en')],
      ['Time', `${seconds.toFixed(1)} s`],
      ['Rows a second', Math.round(written / seconds).toLocaleString('en')],
      [
        'CPU of the archiver for each row, with the making of the entry',
        `${((user + system) / written).toFixed(1)} µs`,
      ],
    ],
    failures: written === expected ? [] : [`${written} rows were written in the place of ${expected}`],
  };
}
