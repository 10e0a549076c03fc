import { toMarkdownTable } from '../helpers/markdown-table.js';
import type { Verdict } from './run-scenario.js';

const COLUMNS = [
  'scenario',
  'requests',
  'lost',
  'wrong',
  'double-billed',
  'extra calls',
  'recovery ms',
  'verdict',
];

/** As Markdown, so that it can go into the documentation as it is. */
export function toTable(verdicts: readonly Verdict[]): string {
  return toMarkdownTable([COLUMNS, ...verdicts.map(toRow)]);
}

/** The table, and what else was measured. */
export function toPage(verdicts: readonly Verdict[]): string {
  const notes = verdicts.flatMap(({ scenario, notes, skipped }) => [
    ...notes.map((note) => `- \`${scenario.name}\`: ${note}.`),
    ...(skipped === undefined ? [] : [`- \`${scenario.name}\` was skipped: ${skipped}.`]),
  ]);
  return [toTable(verdicts), ...(notes.length > 0 ? ['', ...notes] : [])].join('\n');
}

function toRow({ scenario, account, recoveryMs, failures, skipped }: Verdict): string[] {
  const verdict = skipped !== undefined ? 'skipped' : failures.length === 0 ? 'ok' : 'FAILED';
  const figures = account
    ? [
        account.requests,
        account.lost.length,
        account.wrong.length,
        account.misbilled.length,
        account.extraCalls,
      ]
    : ['', '', '', '', ''];
  return [
    scenario.name,
    ...figures.map(String),
    recoveryMs === undefined ? '' : String(Math.round(recoveryMs)),
    verdict,
  ];
}
