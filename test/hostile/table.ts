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

export function toTable(outcomes: readonly Outcome[]): string {
  return toMarkdownTable([COLUMNS, ...outcomes.map(toRow)]);
}

/** For the documentation, once all attacks were held off: what each attacker did, and what the innocent workspace noticed. */
export function toPage(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map(({ attack, notes, alone, under }) => [
    attack.name,
    notes.length > 0 ? `${attack.does} (${notes.join('; ')})` : attack.does,
    [alone, under].map((share) => share?.p95.toFixed(0) ?? '').join(' → '),
    under ? `${under.errors} of ${under.requests}` : '',
  ]);
  const lines = rows.map((row) => `| ${row.join(' | ')} |`);
  return [
    '| attack | the attacker | p95 ms alone → under attack | errors |',
    '|---|---|---|---|',
    ...lines,
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
