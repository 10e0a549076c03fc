const DAY_MS = 86_400_000;

/** When the budget ends. It is for a calendar month, UTC: what lasts until the next one lasts. */
export function forecast(left: number, pace: number, now: number): number | 'spent' | 'lasts' {
  if (left <= 0) return 'spent';
  if (pace <= 0) return 'lasts';
  const end = now + (left / pace) * DAY_MS;
  const today = new Date(now);
  const nextMonth = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 1);
  return end < nextMonth ? end : 'lasts';
}
