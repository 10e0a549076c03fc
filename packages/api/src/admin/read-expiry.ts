import { type ConfigReader, isAbsent } from '@sluice/shared/config/reader';

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Reads when something that is issued now expires. Undefined: never. */
export function readExpiry(reader: ConfigReader, value: unknown, now: number): number | undefined {
  if (isAbsent(value)) return undefined;
  const time = typeof value === 'string' && MOMENT.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(time)) reader.mistake('expires_at', 'must be a moment such as 2027-01-31T12:00:00Z');
  else if (time <= now) reader.mistake('expires_at', 'must be in the future');
  return time;
}
