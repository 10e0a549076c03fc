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

/** The documentation has recoveries that took longer than the lock of a dead worker. */
const NOTABLE_MS = 9_000;
/** Scenarios whose further figures are in the documentation. */
const SAVED_NOTES = ['upstream-outage', 'flood', 'unequal-load', 'overload'];

export function toTable(verdicts: readonly Verdict[]): string {
  return toMarkdownTable([COLUMNS, ...verdicts.map(toRow)]);
}

/** For the documentation, once all rows have held: what they have in common is said once. Then what else was measured. */
export function toPage(verdicts: readonly Verdict[]): string {
  const ran = verdicts.filter(({ account }) => account !== undefined);
  const run = ran.map(toRow);
  const again = ran.map(({ account }) => account?.extraCalls ?? 0).filter((calls) => calls > 0);
  const slow = ran.flatMap(({ scenario, recoveryMs = 0 }) =>
    recoveryMs >= NOTABLE_MS ? `${scenario.name} ${(recoveryMs / 1000).toFixed(1)}` : [],
  );
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
    `Extra calls: ${again.reduce((sum, calls) => sum + calls, 0)}, in ${again.length} scenarios. Recovery of more than nine seconds: ${slow.join(', ')}.`,
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
