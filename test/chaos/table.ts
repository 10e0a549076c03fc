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

/** The columns of the documentation: scenario, extra calls, recovery. */
const SAVED = [0, 5, 6];

export function toTable(verdicts: readonly Verdict[]): string {
  return toMarkdownTable([COLUMNS, ...verdicts.map(toRow)]);
}

/** For the documentation, once all rows have held: what they have in common is said once. Then what else was measured. */
export function toPage(verdicts: readonly Verdict[]): string {
  const run = verdicts.filter(({ account }) => account !== undefined).map(toRow);
  const [, requests, lost, wrong, doubleBilled] = COLUMNS.map((_, i) =>
    run.reduce((sum, row) => sum + Number(row[i]), 0),
  );
  const notes = verdicts.flatMap(({ scenario, notes, skipped }) => [
    ...notes.map((note) => `- \`${scenario.name}\`: ${note}.`),
    ...(skipped === undefined ? [] : [`- \`${scenario.name}\` was skipped: ${skipped}.`]),
  ]);
  return [
    `${run.length} scenarios, ${requests} requests: ${lost} lost, ${wrong} wrong, ${doubleBilled} double-billed.`,
    '',
    toMarkdownTable([COLUMNS, ...run].map((row) => SAVED.map((i) => row[i] ?? ''))),
    ...(notes.length > 0 ? ['', ...notes] : []),
  ].join('\n');
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
