import type { ReconciledRow, Reconciliation } from '@sluice/shared/admin-api';
import { whole } from './format.js';
import type { Style } from './style.js';
import { table } from './table.js';

/** A reconciliation for people. */
export function reconciliationText(
  { provider, month, total, data, missing_days: missing, doubled }: Reconciliation,
  { all, style }: { all: boolean; style: Style },
): string {
  const rows = all ? data : data.filter(({ status }) => status !== 'matched');
  const percent = total.drift_percent === null ? '' : ` (${total.drift_percent} %)`;
  return [
    `${provider}, ${month}: ours ${total.ours_usd}, adjusted ${total.adjusted_usd}, theirs ${total.theirs_usd}, drift ${total.drift_usd} USD${percent}.`,
    `Of ${whole(data.length)} days and models ${whole(total.matched)} agree, ${whole(total.drift)} differ, ${whole(total.ours_only)} are ours only, and ${whole(total.theirs_only)} theirs only.`,
    ...(rows.length === 0 ? [] : [table(COLUMNS, rows, style)]),
    ...(missing.length === 0
      ? []
      : [`The file has no line of ${missing.join(', ')}: nothing is settled there.`]),
    ...doubled.map(
      ({ day, model, usd, times }) =>
        `The file has a line ${times} times. It counts once: ${day} ${model} ${usd} USD.`,
    ),
    total.settled === 0
      ? 'No adjustment was made.'
      : `Made ${whole(total.settled)} adjustments, ${total.settled_usd} USD in all.`,
  ].join('\n');
}

const COLUMNS = [
  { title: 'DAY', cell: ({ day }: ReconciledRow) => day },
  { title: 'MODEL', cell: ({ model }: ReconciledRow) => model },
  { title: 'STATUS', cell: ({ status }: ReconciledRow) => status.replace('_', ' ') },
  { title: 'OURS', right: true, cell: ({ ours_usd: usd }: ReconciledRow) => usd },
  { title: 'ADJUSTED', right: true, cell: ({ adjusted_usd: usd }: ReconciledRow) => usd },
  { title: 'THEIRS', right: true, cell: ({ theirs_usd: usd }: ReconciledRow) => usd },
  { title: 'DRIFT', right: true, cell: ({ drift_usd: usd }: ReconciledRow) => usd },
  { title: '%', right: true, cell: ({ drift_percent: share }: ReconciledRow) => String(share ?? '') },
  {
    title: 'WHY',
    cell: ({ explanations }: ReconciledRow) =>
      explanations.map(({ usd, text }) => `${usd}: ${text}`).join(' '),
  },
];
