import { toMarkdownTable } from '../helpers/markdown-table.js';
import type { Outcome } from './run-attack.js';
import type { Share } from './stage.js';

const COLUMNS = [
  'attack',
  'p50 ms alone',
  'p95 ms alone',
  'p50 ms under attack',
  'p95 ms under attack',
  'errors',
  'verdict',
];

/** Of the 95th percentile of the innocent workspace under attack. */
const NOTICED_MS = 100;

export function toTable(outcomes: readonly Outcome[]): string {
  return toMarkdownTable([COLUMNS, ...outcomes.map(toRow)]);
}

/** For the documentation, once all attacks were held off: what the innocent workspace noticed of each. */
export function toPage(outcomes: readonly Outcome[]): string {
  const total = (count: (share: Share) => number) =>
    outcomes.reduce((sum, { under }) => sum + (under ? count(under) : 0), 0);
  const isNoticed = ({ under }: Outcome) => (under?.p95 ?? 0) >= NOTICED_MS;
  const noticed = outcomes
    .filter(isNoticed)
    .map(
      ({ attack, alone, under }) =>
        `${attack.name} ${[alone, under].map((share) => share?.p95.toFixed(0) ?? '').join(' → ')}`,
    );
  const others = outcomes.filter((outcome) => !isNoticed(outcome)).length;
  return [
    `The innocent workspace got ${total(({ errors }) => errors)} errors in ${total(({ requests }) => requests)} requests.`,
    '',
    `Its p95 in ms, alone → under attack: ${noticed.join(', ')}. Below ${NOTICED_MS} ms under the other ${others}.`,
  ].join('\n');
}

function toRow({ attack, alone, under, failures }: Outcome): string[] {
  const times = (share: Share | undefined) =>
    share ? [share.p50.toFixed(0), share.p95.toFixed(0)] : ['', ''];
  return [
    attack.name,
    ...times(alone),
    ...times(under),
    under ? `${under.errors} of ${under.requests}` : '',
    failures.length === 0 ? 'held' : 'FAILED',
  ];
}
