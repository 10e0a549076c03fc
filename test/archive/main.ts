/**
 * What the archive promises, shown: `npm run archive -- faults`, `rate`, `away`, `queries`. Each starts what it needs, prints
 * its figures, and ends with 1 when something did not hold.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { figureList } from '../helpers/figure-list.js';
import { figuresSaver } from '../helpers/save-figures.js';
import { showAway } from './away.js';
import { showFaults } from './faults.js';
import { showQueries } from './queries.js';
import { showRate } from './rate.js';
import type { Shown } from './shown.js';

/** What the documentation leaves out: how long the run took, and what its command says. */
const UNSAVED = ['Rows', 'Time', 'Time to make them'];

const HELP = `npm run archive -- <show> [options]

  faults --requests <n>   requests while workers, PostgreSQL and Redis are killed (default 2000)
    --fault-seconds <n>   the pause between one fault and the next (default 5)
    --most-minutes <n>    ends the requests after so long, with those that there are (default: no limit)
  rate --entries <n>      rows a second that one archiver writes (default 100000)
  away --minutes <n>      memory while PostgreSQL is away (default 1)
  queries --entries <n>   how long each question of the console takes (default 100000)

  --folder <path>         where PostgreSQL has its data, kept afterwards (default: a folder that is removed)
  --save docs             write the table to docs/reliability.md, if everything held
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    requests: { type: 'string', default: '2000' },
    'most-minutes': { type: 'string', default: 'Infinity' },
    'fault-seconds': { type: 'string', default: '5' },
    entries: { type: 'string', default: '100000' },
    minutes: { type: 'string', default: '1' },
    folder: { type: 'string' },
    save: { type: 'string' },
  },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
const shows = {
  faults: (folder: string) =>
    showFaults(
      folder,
      {
        requests: Number(values.requests),
        mostMinutes: Number(values['most-minutes']),
        faultSeconds: Number(values['fault-seconds']),
      },
      say,
    ),
  rate: (folder: string) => showRate(folder, Number(values.entries), say),
  away: (folder: string) => showAway(folder, Number(values.minutes), say),
  queries: (folder: string) => showQueries(folder, Number(values.entries), say),
} satisfies Record<string, (folder: string) => Promise<Shown>>;
type Show = keyof typeof shows;
const isShow = (name: string | undefined): name is Show => name !== undefined && Object.hasOwn(shows, name);

const [name] = positionals;
if (!isShow(name)) {
  say(HELP);
  process.exitCode = 2;
} else {
  const save = figuresSaver(`archive-${name}`, values.save, 'archive');
  const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'sluice-archive-'));
  const { rows, failures } = await shows[name](folder);
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
  say(`\n${figureList(rows)}\n`);
  for (const failure of failures) say(`FAILED: ${failure}`);
  say(failures.length === 0 ? 'All held.' : `${failures.length} failed.`);
  if (failures.length > 0) process.exitCode = 1;
  else save?.(figureList(rows, UNSAVED));
}
