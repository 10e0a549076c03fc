/** `npm run deadlines`: exits with 1 when a deadline was missed, a request was lost, or a way was not taken. */
import { parseArgs } from 'node:util';
import { figuresSaver } from '../helpers/save-figures.js';
import { runDeadlines, type WaySum } from './run.js';

const HELP = `npm run deadlines -- [options]

  --requests <n>  requests with a deadline (default 300)
  --seconds <n>   how long callers who wait are there, too (default 240)
  --callers <n>   how many of them (default 8)
  --save docs     write the table to docs/reliability.md, if everything held
  --help          this text
`;
/** A run in which nothing goes these ways shows nothing of them. */
const CHEAPER = ['flex', 'provider_batch'];
const HEAD =
  '| Route and way | Requests | Missed | Cost | At the standard tier | Saved |\n|---|---:|---:|---:|---:|---:|';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '300' },
    seconds: { type: 'string', default: '240' },
    callers: { type: 'string', default: '8' },
    save: { type: 'string' },
    help: { type: 'boolean' },
  },
});
const say = (text: string) => process.stdout.write(`${text}\n`);
if (values.help) say(HELP);
else {
  const save = figuresSaver('deadlines', values.save);
  const { ways, lost, served } = await runDeadlines({
    requests: Number(values.requests),
    seconds: Number(values.seconds),
    callers: Number(values.callers),
  });
  const sum = (of: (way: WaySum) => number) => ways.reduce((all, way) => all + of(way), 0);
  const total: WaySum = {
    way: 'all',
    requests: sum(({ requests }) => requests),
    missed: sum(({ missed }) => missed),
    cost: sum(({ cost }) => cost),
    standard: sum(({ standard }) => standard),
  };
  const table = [HEAD, ...[...ways, total].map(lineOf)].join('\n');
  say(`${table}\n\n${served} calls of callers who wait were served beside them.`);
  const unused = CHEAPER.filter((cheaper) => !ways.some(({ way }) => way.endsWith(`, ${cheaper}`)));
  const isHeld = total.missed === 0 && lost === 0 && total.cost < total.standard && unused.length === 0;
  const why = [`${total.missed} missed, ${lost} lost`, ...unused.map((way) => `nothing went by ${way}`)];
  say(isHeld ? 'All held.' : `Not held: ${why.join(', ')}.`);
  if (isHeld) save?.(table);
  else process.exitCode = 1;
}

function lineOf({ way, requests, missed, cost, standard }: WaySum): string {
  const usd = [cost, standard].map((each) => `$${each.toFixed(4)}`);
  const saved = `${((100 * (standard - cost)) / Math.max(1e-12, standard)).toFixed(1)} %`;
  return `| ${[way, requests, missed, ...usd, saved].join(' | ')} |`;
}
