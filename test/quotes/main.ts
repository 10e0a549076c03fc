/** `npm run quotes`: random batches are quoted and run. Exits with 1 when more than 1 % cost more than their quote said. */
import { parseArgs } from 'node:util';
import { startGateway } from '../helpers/gateway.js';
import { figuresSaver } from '../helpers/save-figures.js';
import { fits, type MeasuredQuote, measureQuotes } from './measure.js';

const HELP = `npm run quotes -- [options]

  --runs <n>   how many batches (default 300)
  --seed <n>   for the same batches again (default 1)
  --save docs  write the table to docs/reliability.md, if the goal was met
  --help       this text

Each batch is quoted, and then run. 300 take about ten minutes.
`;
const GOAL = 0.99;
const TELL_EVERY = 20;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    save: { type: 'string' },
    help: { type: 'boolean' },
  },
});
const say = (text: string) => process.stdout.write(`${text}\n`);
if (values.help) process.stdout.write(HELP);
else {
  const save = figuresSaver('quotes', values.save);
  const gateway = await startGateway();
  try {
    const [runs, seed] = [Number(values.runs), Number(values.seed)];
    const onRun = (run: number) => run % TELL_EVERY === 0 && say(`${run} of ${runs} batches`);
    const measured = await measureQuotes({ gateway, runs, seed, onRun });
    const held = shareOf(measured);
    const table = tableOf(measured);
    say(`\n${table}\n`);
    for (const each of measured.filter((one) => !fits(one))) say(`beyond its quote: ${JSON.stringify(each)}`);
    say(`${percent(held)} within (goal: ${percent(GOAL)})`);
    if (held < GOAL) process.exitCode = 1;
    else save?.(table);
  } finally {
    await gateway.stop();
  }
}

function tableOf(measured: readonly MeasuredQuote[]): string {
  const rows = [
    ['with measured answers', measured.filter(({ isMeasured }) => isMeasured)],
    ['without', measured.filter(({ isMeasured }) => !isMeasured)],
  ] as const;
  const lines = rows.map(([title, some]) => {
    const ratio = (of: (each: MeasuredQuote) => number) =>
      median(some.map((each) => of(each) / each.cost)).toFixed(2);
    const ratios = [ratio(({ expected }) => expected), ratio(({ most }) => most)];
    return `| ${[title, some.length, percent(shareOf(some)), ...ratios].join(' | ')} |`;
  });
  const head = '| quotes | batches | within | expected / cost, median | most / cost, median |';
  return [head, '|---|---:|---:|---:|---:|', ...lines].join('\n');
}

/** Of the batches, those that cost no more than their quote said. */
function shareOf(measured: readonly MeasuredQuote[]): number {
  return measured.filter(fits).length / Math.max(1, measured.length);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
