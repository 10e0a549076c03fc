/**
 * `npm run limits`: three times the load that a strict upstream allows, over three workers, one of which is killed. Exits with
 * 1 when the upstream had to refuse anything, or when less than 95 % of the allowed tokens were used.
 */
import { parseArgs } from 'node:util';
import { figuresSaver } from '../helpers/save-figures.js';
import { RIVALS, type Row, revokedRow, rivalRow, sluiceRows } from './rows.js';

const HELP = `npm run limits -- [options]

  --seconds <n>   how long each gateway is under load (180)
  --beside <list> the gateways beside ours: litellm,portkey (both), or none
  --save docs     write the figures to docs/reliability.md, if all held
  --help          this text
`;
const LEAST_PERCENT = 95;
const HEAD = `| Gateway | Sent | Served | Refused with 429 | Failed otherwise | 429s of the upstream | Allowed tokens used |
|---|---:|---:|---:|---:|---:|---:|`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '180' },
    beside: { type: 'string', default: 'litellm,portkey' },
    save: { type: 'string' },
    help: { type: 'boolean' },
  },
});
const say = (text: string) => process.stdout.write(`${text}\n`);
if (values.help) {
  say(HELP);
  process.exit(0);
}
const save = figuresSaver('limits', values.save);
const ms = Number(values.seconds) * 1000;

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
