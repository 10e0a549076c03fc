/** `npm run batches`: one large batch with the official SDK, while everything is killed. Exits with 1 when a line is missing. */
import { parseArgs } from 'node:util';
import { figureList } from '../helpers/figure-list.js';
import { figuresSaver } from '../helpers/save-figures.js';
import { runBatch } from './run-batch.js';
import { uploadLarge } from './upload-large.js';

/** What the documentation leaves out: figures that follow from the others. */
const UNSAVED = [
  'In the output file',
  'In the error file',
  'Requests in the ledger',
  'Calls under way when workers or Redis were killed',
];
const HELP = `npm run batches -- [options]

  --lines <n>     lines of the batch (default 50000)
  --kills <n>     how often all workers, and all apis, are killed (default 3)
  --megabytes <n> size of the upload whose memory is measured (default 200)
  --save docs     write the table to docs/reliability.md, if everything held
  --help          this text

Two providers, 2 % of the lines fail. Redis is killed once, in the middle. A caller beside the batch is measured with and
without it. Then a large file is uploaded, and the memory of the api process is measured.
`;

const { values } = parseArgs({
  options: {
    lines: { type: 'string', default: '50000' },
    kills: { type: 'string', default: '3' },
    megabytes: { type: 'string', default: '200' },
    save: { type: 'string' },
    help: { type: 'boolean' },
  },
});

if (values.help) process.stdout.write(HELP);
else {
  const save = figuresSaver('batches', values.save);
  const say = (text: string) => process.stdout.write(`${text}\n`);
  const batch = await runBatch(Number(values.lines), Number(values.kills), say);
  const upload = await uploadLarge(Number(values.megabytes), say);
  const rows = [...batch.rows, ...upload.rows];
  const failures = [...batch.failures, ...upload.failures];
  say(`\n${figureList(rows)}\n`);
  for (const failure of failures) say(`FAILED: ${failure}`);
  say(failures.length === 0 ? 'All held.' : `${failures.length} failed.`);
  if (failures.length > 0) process.exitCode = 1;
  else save?.(figureList(rows, UNSAVED));
}
