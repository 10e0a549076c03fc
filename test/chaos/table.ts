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
/** A row with neither extra calls nor a recovery of this length is only named there. */
const NOTABLE_MS = 1_000;
/** Scenarios whose further figures are in the documentation. */
const SAVED_NOTES = ['upstream-outage', 'flood', 'unequal-load', 'overload'];

export function toTable(verdicts: readonly Verdict[]): string {
  return toMarkdownTable([COLUMNS, ...verdicts.map(toRow)]);
}

/** For the documentation, once all rows have held: what they have in common is said once. Then what else was measured. */
export function toPage(verdicts: readonly Verdict[]): string {
  const ran = verdicts.filter(({ account }) => account !== undefined);
  const run = ran.map(toRow);
  const quick = ran.filter((verdict) => !isNotable(verdict)).map(({ scenario }) => scenario.name);
  const [, requests, lost, wrong, doubleBilled] = COLUMNS.map((_, i) =>
    run.reduce((sum, row) => sum + Number(row[i]), 0),
  );
  const notes = verdicts.flatMap(({ scenario, notes, skipped }) => [
    ...(SAVED_NOTES.includes(scenario.name) ? notes : []).map((note) => `- \`${scenario.name}\`: ${note}.`),
    ...(skipped === undefined ? [] : [`- \`${scenario.name}\` was skipped: ${skipped}.`]),
  ]);
  return [
    `${run.length} scenarios, ${requests} requests: ${lost} lost, ${wrong} wrong, ${doubleBilled} double-billed.`,
    '',
    toMarkdownTable(
      [COLUMNS, ...ran.filter(isNotable).map(toRow)].map((row) => SAVED.map((i) => row[i] ?? '')),
    ),
    '',
    `Neither an extra call nor a second of recovery: ${quick.join(', ')}.`,
    ...(notes.length > 0 ? ['', ...notes] : []),
  ].join('\n');
}

function isNotable({ account, recoveryMs = 0 }: Verdict): boolean {
  return (account?.extraCalls ?? 0) > 0 || recoveryMs >= NOTABLE_MS;
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
