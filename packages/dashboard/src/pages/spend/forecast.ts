import type { SpendRow } from '../../admin-types.js';

const DAY_MS = 86_400_000;

/** USD a day, from the first day of the last week on which anything was spent until now. */
export function pacePerDay(week: readonly SpendRow[], workspace: string, now: number): number {
  const rows = week.filter((row) => row.workspace === workspace);
  const first = rows.map(({ day }) => day ?? '').sort()[0];
  if (first === undefined) return 0;
  const spent = rows.reduce((sum, { cost_usd }) => sum + Number(cost_usd), 0);
  // Of a first day that is today only the part that is over counts, but not less than an hour.
  const days = Math.max((now - Date.parse(first)) / DAY_MS, 1 / 24);
  return spent / days;
}

/** When the budget ends. It is for a calendar month, UTC: what lasts until the next one lasts. */
export function forecast(left: number, pace: number, now: number): number | 'spent' | 'lasts' {
  if (left <= 0) return 'spent';
  if (pace <= 0) return 'lasts';
  const end = now + (left / pace) * DAY_MS;
  const today = new Date(now);
  const nextMonth = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 1);
  return end < nextMonth ? end : 'lasts';
}
