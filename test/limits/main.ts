/**
 * `npm run limits`: three times the load that a strict upstream allows, over three workers, one of which is killed. Exits with
 * 1 when the upstream had to refuse anything, or when less than 95 % of the allowed tokens were used.
 */
import { parseArgs } from 'node:util';
import { figuresSaver } from '../helpers/save-figures.js';
import { FOUND_CASES, type FoundRow, foundRow } from './found.js';
import { RIVALS, type Row, revokedRow, rivalRow, sluiceRows } from './rows.js';
import { SHARDS_CASES, shardsRow } from './shards.js';

const HELP = `npm run limits -- [options]

  --seconds <n>   how long each gateway is under load (180)
  --beside <list> the gateways beside ours: litellm,portkey (both), or none
  --found <list>  instead: limits that nobody has set, and that are found or announced: all, or some of
                  5,20,200,changing,second,second-hidden,tokens,tokens-hidden,anthropic,anthropic-hidden
  --shards <n>    instead: limits that so many shards divide, with callers that jump from shards to shards
  --save docs     write the figures to docs/reliability.md, if all held
  --help          this text
`;
const LEAST_PERCENT = 95;
const LEAST_OF_SHARDS = 97;
const HEAD = `| Gateway | Sent | Served | Refused with 429 | Failed otherwise | 429s of the upstream | Allowed tokens used |
|---|---:|---:|---:|---:|---:|---:|`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '180' },
    beside: { type: 'string', default: 'litellm,portkey' },
    found: { type: 'string' },
    shards: { type: 'string' },
    save: { type: 'string' },
    help: { type: 'boolean' },
  },
});
const say = (text: string) => process.stdout.write(`${text}\n`);
if (values.help) {
  say(HELP);
  process.exit(0);
}
const ms = Number(values.seconds) * 1000;
if (values.found !== undefined) process.exit((await showFound(values.found)) ? 0 : 1);
if (values.shards !== undefined) process.exit((await showShards(Number(values.shards))) ? 0 : 1);
const save = figuresSaver('limits', values.save);

const beside = values.beside === 'none' ? [] : values.beside.split(',');
const unknown = beside.find((name) => !RIVALS.has(name));
if (unknown !== undefined) {
  say(`--beside knows ${[...RIVALS.keys()].join(', ')} and none.`);
  process.exit(2);
}

const own = [...(await sluiceRows(ms)), await revokedRow(ms / 3)];
for (const row of own) say(lineOf(row));
const others: Row[] = [];
for (const name of beside) {
  const target = RIVALS.get(name);
  if (!target) continue;
  const missing = target.missing();
  if (missing === undefined) {
    const row = await rivalRow(target, ms);
    say(lineOf(row));
    others.push(row);
  } else say(`${target.title} was left out: ${missing}`);
}

const isHeld = ({ upstreamRefusals, usedPercent, tally }: Row) =>
  upstreamRefusals === 0 &&
  tally.failed === 0 &&
  // Below its limits a gateway refuses nothing.
  (usedPercent === undefined ? tally.refused === 0 : usedPercent >= LEAST_PERCENT);
const held = own.every(isHeld);
if (held) save?.([HEAD, ...[...own, ...others].map(lineOf)].join('\n'));
say(
  held
    ? 'All held.'
    : `Not held: no 429 of the upstream, ${LEAST_PERCENT} % of its tokens, and no other failure.`,
);
process.exit(held ? 0 : 1);

function lineOf({ title, tally, upstreamRefusals, usedPercent }: Row): string {
  const { sent, served, refused, failed } = tally;
  const cells = [
    title,
    sent,
    served,
    refused,
    failed,
    upstreamRefusals,
    usedPercent === undefined ? '' : `${usedPercent.toFixed(1)} %`,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Whether all were served as well as with the best setting, and next to nothing was refused. */
async function showFound(list: string): Promise<boolean> {
  const names = list === 'all' ? [...FOUND_CASES.keys()] : list.split(',');
  say(
    '| Upstream | Served | Of the best setting | 429s of the upstream | Refused | Failed |\n|---|---:|---:|---:|---:|---:|',
  );
  let held = true;
  for (const name of names) {
    const found = FOUND_CASES.get(name);
    if (!found) {
      say(`--found knows ${[...FOUND_CASES.keys()].join(', ')} and all.`);
      process.exit(2);
    }
    const row = await foundRow(found, ms);
    say(foundLine(row));
    held &&=
      row.percent >= LEAST_PERCENT && refusedPercent(row) < 1 && row.tally.refused + row.tally.failed === 0;
  }
  say(
    held
      ? 'All held.'
      : `Not held: ${LEAST_PERCENT} % of the best setting, 1 % of 429s, and no caller refused.`,
  );
  return held;
}

/** Whether the upstream has refused nothing, and nearly all that it allows was used. */
async function showShards(count: number): Promise<boolean> {
  say('| Limit | Served | Allowed and used | 429s of the upstream | Failed |\n|---|---:|---:|---:|---:|');
  let held = true;
  for (const each of SHARDS_CASES) {
    const { title, tally, percent } = await shardsRow(each, count, ms);
    const { served, failed, upstreamRefusals } = tally;
    say(`| ${[title, served, `${percent.toFixed(1)} %`, upstreamRefusals, failed].join(' | ')} |`);
    const isUsed = !each.isRate || percent >= LEAST_OF_SHARDS;
    held &&= isUsed && upstreamRefusals === 0 && failed === 0;
  }
  say(
    held ? 'All held.' : `Not held: no 429 of the upstream, and ${LEAST_OF_SHARDS} % of a limit per minute.`,
  );
  return held;
}

function refusedPercent({ upstreamCalls, upstreamRefusals }: FoundRow): number {
  return (100 * upstreamRefusals) / Math.max(1, upstreamCalls);
}

function foundLine(row: FoundRow): string {
  const { title, tally, upstreamRefusals, percent } = row;
  const refusals = `${upstreamRefusals}, ${refusedPercent(row).toFixed(1)} %`;
  return `| ${[title, tally.served, `${percent.toFixed(1)} %`, refusals, tally.refused, tally.failed].join(' | ')} |`;
}
