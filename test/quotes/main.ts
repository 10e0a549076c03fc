/** `npm run quotes`: random batches are quoted and run. Exits with 1 when more than 1 % cost more than their quote said. */
import { parseArgs } from 'node:util';
import { startGateway } from '../helpers/gateway.js';
import { fits, type MeasuredQuote, measureQuotes } from './measure.js';

const HELP = `npm run quotes -- [options]

  --runs <n>   how many batches (default 300)
  --seed <n>   for the same batches again (default 1)
  --help       this text
`;
const GOAL = 0.99;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean' },
  },
});
if (values.help) process.stdout.write(HELP);
else {
  const gateway = await startGateway();
  try {
    const measured = await measureQuotes({ gateway, runs: Number(values.runs), seed: Number(values.seed) });
    process.exitCode = report(measured) >= GOAL ? 0 : 1;
  } finally {
    await gateway.stop();
  }
}

/** Returns the share of batches that cost no more than their quote said. */
function report(measured: readonly MeasuredQuote[]): number {
  const say = (text: string) => process.stdout.write(`${text}\n`);
  const held = measured.filter(fits).length / measured.length;
  say(
    '| Quotes | Batches | Within | Expected / cost, median | Most / cost, median |\n|---|---:|---:|---:|---:|',
  );
  for (const [title, some] of [
    ['with measured answers', measured.filter(({ isMeasured }) => isMeasured)],
    ['without', measured.filter(({ isMeasured }) => !isMeasured)],
  ] as const) {
    const within = `${((100 * some.filter(fits).length) / Math.max(1, some.length)).toFixed(1)} %`;
    const ratio = (of: (each: MeasuredQuote) => number) =>
      median(some.map((each) => of(each) / each.cost)).toFixed(2);
    say(
      `| ${title} | ${some.length} | ${within} | ${ratio(({ expected }) => expected)} | ${ratio(({ most }) => most)} |`,
    );
  }
  for (const each of measured.filter((one) => !fits(one))) say(`beyond its quote: ${JSON.stringify(each)}`);
  say(`${(100 * held).toFixed(1)} % within (goal: ${100 * GOAL} %)`);
  return held;
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
