import { type ConfigReader, isAbsent } from '@sluice/shared/config/reader';

const MOMENT = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;
const AGO = /^(\d{1,6})([smhdw])$/;
const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const DAY = /^\d{4}-\d\d-\d\d$/;

/**
 * Reads `2026-11-15`, `2026-11-15T09:30:00Z`, or `90m` for 90 minutes ago. A day as a beginning is its midnight (UTC). As an
 * end it is the midnight after it, so that the day is a part of the time.
 */
export function readMoment(
  reader: ConfigReader,
  value: unknown,
  path: string,
  now: number,
  is: 'beginning' | 'end' = 'beginning',
): number | undefined {
  if (isAbsent(value)) return undefined;
  const text = typeof value === 'string' ? value : '';
  const [, count, unit = ''] = AGO.exec(text) ?? [];
  const time = count
    ? now - Number(count) * (UNIT_MS[unit] ?? 0)
    : MOMENT.test(text)
      ? Date.parse(text) + (is === 'end' && DAY.test(text) ? (UNIT_MS.d ?? 0) : 0)
      : Number.NaN;
  const [day = ''] = text.split('T');
  // Date.parse makes the third of March of the 31st of February.
  if (Number.isNaN(time) || (!count && !new Date(day).toJSON()?.startsWith(day)))
    reader.mistake(
      path,
      'must be a moment such as 2027-01-31 or 2027-01-31T12:00:00Z, or 15m, 24h, 7d for so long ago',
    );
  // Neither the log in Redis nor PostgreSQL can be asked for an earlier one.
  if (time < 0) reader.mistake(path, 'must not be before 1970');
  return time;
}
