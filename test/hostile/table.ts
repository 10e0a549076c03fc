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

/** The table, what each attacker did, and what else was seen. */
export function toPage(outcomes: readonly Outcome[]): string {
  const lines = outcomes.map(({ attack, notes }) => {
    const seen = notes.length > 0 ? ` (${notes.join('; ')})` : '';
    return `- \`${attack.name}\`: ${attack.does}${seen}.`;
  });
  return [toTable(outcomes), '', 'The attacker', '', ...lines].join('\n');
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
