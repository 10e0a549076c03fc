/** What the ledger has beyond the rows of the archive, as rows of their own: together they are the ledger's sums. */
import { addSums, COLUMNS, noSums, type SpendResult, type SpendRow } from './spend.js';

/** `archive` was read first and has the same rows, divided further by tags. */
export function withRest(archive: SpendResult, ledger: SpendResult): SpendResult {
  const keyOf = ({ day, workspace, route, provider, model }: SpendRow['group']) =>
    JSON.stringify([day, workspace, route, provider, model]);
  const known = new Map<string, SpendRow['sums']>();
  for (const { group, sums } of archive.rows) {
    const key = keyOf(group);
    const sum = known.get(key) ?? noSums();
    addSums(sum, sums);
    known.set(key, sum);
  }
  const rest = ledger.rows.flatMap(({ group, sums }): SpendRow[] => {
    const has = known.get(keyOf(group)) ?? noSums();
    const left = Object.fromEntries(
      COLUMNS.map((column) => [column, sums[column] - has[column]]),
    ) as SpendRow['sums'];
    return COLUMNS.some((column) => left[column] !== 0n) ? [{ group, sums: left }] : [];
  });
  return { ...archive, rows: [...archive.rows, ...rest], total: ledger.total };
}
