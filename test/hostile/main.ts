/** `npm run hostile`: every attack of the table against real processes. Exits with 1 when one does not hold. */
import { parseArgs } from 'node:util';
import { figuresSaver } from '../helpers/save-figures.js';
import { ATTACKS } from './attacks/index.js';
import { type Outcome, runAttack } from './run-attack.js';
import { toPage, toTable } from './table.js';

const HELP = `npm run hostile -- [options]

  --only <name>   only this attack; may be given more than once
  --short         less of everything, as in npm test
  --list          names and attacks, and nothing else
  --save docs     write the table to docs/reliability.md, if all attacks were run and held
  --help          this text

Each attack is run by one workspace of a gateway of its own, while another, innocent workspace sends a little. The table
has what the innocent one notices: its latency alone and under attack, and its errors.
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    short: { type: 'boolean' },
    list: { type: 'boolean' },
    save: { type: 'string' },
    help: { type: 'boolean' },
  },
});

const unknown = values.only?.filter((name) => !ATTACKS.some((attack) => attack.name === name)) ?? [];
if (values.help) {
  process.stdout.write(HELP);
} else if (values.list) {
  for (const { name, does } of ATTACKS) process.stdout.write(`${name.padEnd(24)}${does}\n`);
} else if (unknown.length > 0) {
  process.stderr.write(`no such attack: ${unknown.join(', ')}; --list shows them\n`);
  process.exitCode = 2;
} else if (values.save !== undefined && (values.only || values.short)) {
  process.stderr.write('--save is for a whole run of all attacks\n');
  process.exitCode = 2;
} else {
  const save = figuresSaver('hostile', values.save);
  const outcomes: Outcome[] = [];
  for (const attack of ATTACKS.filter(({ name }) => values.only?.includes(name) ?? true)) {
    process.stdout.write(`${attack.name}: ${attack.does}\n`);
    const outcome = await runAttack(attack, values.short ?? false);
    outcomes.push(outcome);
    for (const note of outcome.notes) process.stdout.write(`  ${note}\n`);
    for (const failure of outcome.failures) process.stdout.write(`  FAILED: ${failure}\n`);
  }
  process.stdout.write(`\n${toTable(outcomes)}\n`);
  const failed = outcomes.filter(({ failures }) => failures.length > 0);
  process.stdout.write(failed.length === 0 ? '\nAll held.\n' : `\n${failed.length} failed.\n`);
  if (failed.length === 0) save?.(toPage(outcomes));
  process.exitCode = failed.length === 0 ? 0 : 1;
}
