/** What invoices have settled, as lines of spend of their own. The ledger's sums stay as they are. */
import type { Adjustments } from '@sluice/shared/archive/adjustments';
import { daysBetween, type SpendQuestion, type SpendRow } from './spend.js';

export interface AdjustedRow {
  /** Only those of the fields that an adjustment has. */
  group: SpendRow['group'];
  amount: bigint;
}

/** An adjustment has a provider, a model and a day of UTC. A question for less than all workspaces has none. */
export async function readAdjusted(
  adjustments: Adjustments,
  { from, to, by, filter, tags, workspaces }: SpendQuestion,
): Promise<AdjustedRow[]> {
  const { provider, model, ...others } = filter;
  if (workspaces || tags || Object.keys(others).length > 0) return [];
  const months = [...new Set(daysBetween(from, to).map((day) => day.slice(0, 7)))];
  const meant = (await adjustments.ofMonths(months)).filter(
    (each) =>
      each.day >= from &&
      each.day <= to &&
      (provider === undefined || each.provider === provider) &&
      (model === undefined || each.model === model),
  );
  const asked: ReadonlySet<string> = new Set(by);
  const rows = new Map<string, AdjustedRow>();
  for (const each of meant) {
    const fields = { day: each.day, month: each.day.slice(0, 7), provider: each.provider, model: each.model };
    const group = Object.fromEntries(Object.entries(fields).filter(([field]) => asked.has(field)));
    const key = JSON.stringify(group);
    const row = rows.get(key) ?? { group, amount: 0n };
    row.amount += BigInt(each.amount);
    rows.set(key, row);
  }
  return [...rows.values()];
}
