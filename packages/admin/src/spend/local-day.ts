/** Days as a calendar on the wall has them, in a time zone. */

/** There are more ways to write a name than zones, because the case of its letters does not count. */
const MOST_FORMATS = 100;
const formats = new Map<string, Intl.DateTimeFormat>();

/** `2026-11-15`. */
export function localDay(time: number, timeZone: string): string {
  if (timeZone === 'UTC') return new Date(time).toISOString().slice(0, 10);
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-CA', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    });
    if (formats.size >= MOST_FORMATS) formats.clear();
    formats.set(timeZone, format);
  }
  return format.format(time);
}

/** The first and the last day of a month such as `2026-11`. */
export function daysOfMonth(month: string): { from: string; to: string } {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return { from: `${month}-01`, to: new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10) };
}
