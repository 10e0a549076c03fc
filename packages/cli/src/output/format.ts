/** Moments, durations and numbers as people read them. */
const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'short' });

/** `2026-11-15 09:30:05 GMT+1`, in the time zone of whoever looks: the one of the variable TZ, or of the machine. */
export function moment(iso: string | null | undefined): string {
  if (!iso) return '';
  const date = new Date(iso);
  const two = (number: number) => String(number).padStart(2, '0');
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  const name = zone.formatToParts(date).find(({ type }) => type === 'timeZoneName')?.value;
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')} ${name}`;
}

/** `3 min ago`, `in 2 d`. */
export function fromNow(iso: string | null | undefined, now = Date.now()): string {
  if (!iso) return 'never';
  const ms = Date.parse(iso) - now;
  if (Math.abs(ms) < 1000) return 'now';
  return ms < 0 ? `${duration(-ms)} ago` : `in ${duration(ms)}`;
}

/** `3 min`: in the largest unit that fits. */
export function duration(ms: number): string {
  const [name, size] = UNITS.find(([, size]) => ms >= size) ?? ['ms', 1];
  return `${Math.round(ms / size)} ${name}`;
}

export function whole(number: number | null | undefined): string {
  return number === null || number === undefined ? '' : number.toLocaleString('en-US');
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${whole(number)} ${number === 1 ? one : many}`;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
