import { timeOf } from '@sluice/shared/contract/query';
import { refuse } from './read-input.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;

interface Asked {
  since?: string | undefined;
  until?: string | undefined;
}

/** A time of a minute to a day. It ends now unless `until` says otherwise, and begins 15 minutes ago by default. */
export function readRange(
  { since: asked, until: end }: Asked,
  now: number,
  { standard = '15m', mostMs = DAY_MS, most = 'a day' } = {},
): { since: number; until: number } {
  const since = timeOf(asked ?? standard, now);
  const until = end === undefined ? now : Math.min(now, timeOf(end, now, 'end'));
  if (!(until - since >= MINUTE_MS && until - since <= mostMs))
    refuse(
      'since',
      end === undefined
        ? `must be from a minute to ${most} ago`
        : `must be from a minute to ${most} before until, which counts as now when it is later`,
    );
  return { since, until };
}
