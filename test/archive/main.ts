/**
 * What the archive promises, shown: `npm run archive -- faults`, `rate`, `away`, `queries`. Each starts what it needs, prints
 * its figures, and ends with 1 when something is missing or there twice.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { showAway } from './away.js';
import { showFaults } from './faults.js';
import { showQueries } from './queries.js';
import { showRate } from './rate.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    requests: { type: 'string', default: '2000' },
    entries: { type: 'string', default: '100000' },
    minutes: { type: 'string', default: '1' },
    folder: { type: 'string' },
  },
});
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'sluice-archive-'));
const say = (line: string) => process.stdout.write(`${line}\n`);
const shows: Record<string, () => Promise<boolean>> = {
  faults: () => showFaults(folder, Number(values.requests), say),
  rate: () => showRate(folder, Number(values.entries), say),
  away: () => showAway(folder, Number(values.minutes), say),
  queries: () => showQueries(folder, Number(values.entries), say),
};
const show = shows[positionals[0] ?? ''];
if (!show) {
  say(
    'npm run archive -- faults --requests 1000000 | rate --entries 1000000 | away --minutes 10 | queries --entries 100000000',
  );
  process.exitCode = 2;
} else {
  process.exitCode = (await show()) ? 0 : 1;
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
}
