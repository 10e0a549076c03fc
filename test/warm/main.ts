/**
 * `npm run warm`: lines that begin alike, with and without `warm_prefix_tokens`. Exits with 1 when less than 95 % of the prompts
 * came from the cache, when the ledger has another cost than the tokens, or when lines
 * waited for more than one call.
 */
import { parseArgs } from 'node:util';
import { figuresSaver } from '../helpers/save-figures.js';
import { type Figures, LATENCY_MS, runWarm, type WarmRun } from './run.js';

const HELP = `npm run warm -- [options]

  --lines <n>    lines of the batch (default 1000)
  --tokens <n>   tokens with which all of them begin (default 20000)
  --save docs    write the figures to docs/providers.md, if everything held
  --help         this text
`;
const LEAST_SHARE = 0.95;

const RUNS: WarmRun[] = [
  { title: 'OpenAI', kind: 'openai', isWarm: false },
  { title: 'OpenAI', kind: 'openai', isWarm: true },
  { title: 'Anthropic', kind: 'anthropic', isWarm: false },
  { title: 'Anthropic', kind: 'anthropic', isWarm: true },
];

const { values } = parseArgs({
  options: {
    lines: { type: 'string', default: '1000' },
    tokens: { type: 'string', default: '20000' },
    save: { type: 'string' },
    help: { type: 'boolean' },
  },
});

if (values.help) process.stdout.write(HELP);
else {
  const save = figuresSaver('warm', values.save);
  const say = (text: string) => process.stdout.write(`${text}\n`);
  const all: Figures[] = [];
  for (const run of RUNS) {
    all.push(await runWarm(run, Number(values.lines), Number(values.tokens)));
    say(rowOf(all.at(-1) as Figures));
  }
  const table = [
    '| Cache | Prompts kept together | From the cache | Cost | Took | Longest call | Calls that all waited for |',
    '|---|---|---:|---:|---:|---:|---:|',
    ...all.map(rowOf),
  ];
  const failures = all.flatMap((figures, i) => failuresOf(figures, all[i - 1]));
  say(`\n${table.join('\n')}\n`);
  for (const failure of failures) say(`FAILED: ${failure}`);
  say(failures.length === 0 ? 'All held.' : `${failures.length} failed.`);
  if (failures.length > 0) process.exitCode = 1;
  else save?.(pairsOf(all).join('\n'));
}

/** For the documentation: each cache without and with prompts that are kept together. */
function pairsOf(all: readonly Figures[]): string[] {
  const told = ({ cachedShare, cost }: Figures) => `${(100 * cachedShare).toFixed(1)} %, $${cost.toFixed(2)}`;
  return all.flatMap((figures, i) => {
    const without = all[i - 1];
    return figures.isWarm && without
      ? `- ${figures.title}: ${told(without)}; kept together ${told(figures)}`
      : [];
  });
}

function rowOf({ title, isWarm, cachedShare, cost, seconds, callMs, waitedFor }: Figures): string {
  const share = `${(100 * cachedShare).toFixed(1)} %`;
  const times = [seconds, callMs / 1000].map((each) => `${each.toFixed(1)} s`).join(' | ');
  return `| ${title} | ${isWarm ? 'yes' : 'no'} | ${share} | $${cost.toFixed(2)} | ${times} | ${waitedFor} |`;
}

/** `without`: the same lines, not kept together. */
function failuresOf(figures: Figures, without: Figures | undefined): string[] {
  const { title, isWarm, lines, starts, failed, cachedShare, cost, byTokens, followedMs, waitedFor } =
    figures;
  const found: string[] = [];
  if (failed > 0) found.push(`${title}: ${failed} lines have no answer`);
  if (starts.length !== lines) found.push(`${title}: ${starts.length} calls for ${lines} lines`);
  if (Math.abs(cost - byTokens) > 0.000001)
    found.push(`${title}: the ledger has $${cost}, the tokens cost $${byTokens}`);
  if (!isWarm || !without) return found;
  if (cachedShare < LEAST_SHARE) found.push(`${title}: only ${100 * cachedShare} % came from the cache`);
  if (cost >= without.cost) found.push(`${title}: it was not cheaper`);
  if (followedMs > LATENCY_MS)
    found.push(`${title}: the second call came ${followedMs} ms after the first answer`);
  if (waitedFor > 1) found.push(`${title}: lines waited for ${waitedFor} calls, one after the other`);
  return found;
}
