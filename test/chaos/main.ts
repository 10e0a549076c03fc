/** `npm run chaos`: every fault of the table against real processes. Exits with 1 when a row fails. */
import { parseArgs } from 'node:util';
import { figuresSaver } from '../helpers/save-figures.js';
import { runScenario, type Verdict } from './run-scenario.js';
import { SCENARIOS } from './scenarios.js';
import { toPage, toTable } from './table.js';

const HELP = `npm run chaos -- [options]

  --only <name>   only this scenario; may be given more than once
  --short         only those that are part of npm test
  --list          names and faults, and nothing else
  --save docs     write the figures to docs/reliability.md, if all rows were run and held
  --help          this text

Each scenario starts a gateway of its own (Redis with AOF, api and worker processes, a simulated upstream) and ends in an
account: callers' replies, upstream's calls, the request log and the ledger, joined by request.
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

const unknown = values.only?.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name)) ?? [];
if (values.help) {
  process.stdout.write(HELP);
} else if (values.list) {
  for (const { name, fault, short } of SCENARIOS)
    process.stdout.write(`${name.padEnd(28)}${short ? 'short  ' : '       '}${fault}\n`);
} else if (unknown.length > 0) {
  process.stderr.write(`no such scenario: ${unknown.join(', ')}; --list shows them\n`);
  process.exitCode = 2;
} else if (values.save !== undefined && (values.only || values.short)) {
  process.stderr.write('--save is for a run of all rows\n');
  process.exitCode = 2;
} else {
  const save = figuresSaver('chaos', values.save);
  const chosen = SCENARIOS.filter(
    ({ name, short }) => (!values.only || values.only.includes(name)) && (!values.short || short),
  );
  const verdicts: Verdict[] = [];
  for (const scenario of chosen) {
    process.stdout.write(`${scenario.name}: ${scenario.fault}\n`);
    const verdict = await runScenario(scenario);
    verdicts.push(verdict);
    for (const note of verdict.notes) process.stdout.write(`  ${note}\n`);
    for (const failure of verdict.failures) process.stdout.write(`  FAILED: ${failure}\n`);
    if (verdict.skipped !== undefined) process.stdout.write(`  skipped: ${verdict.skipped}\n`);
    process.stdout.write(`  ${verdict.seconds.toFixed(1)} s\n`);
  }
  process.stdout.write(`\n${toTable(verdicts)}\n`);
  const failed = verdicts.filter(({ failures }) => failures.length > 0);
  process.stdout.write(
    failed.length === 0 ? '\nAll held.\n' : `\n${failed.length} of ${verdicts.length} failed.\n`,
  );
  if (failed.length === 0) save?.(toPage(verdicts));
  // A connection that a scenario has broken on purpose must not keep the command from ending.
  process.exit(failed.length === 0 ? 0 : 1);
}
