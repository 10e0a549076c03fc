/** What a workspace has used of its limits. */

import { monthOf } from '@sluice/shared/calendar';
import type { Clock } from '@sluice/shared/redis/clock';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';

export interface LimitUse {
  /** `2026-11`, UTC: the month that a budget is for. */
  month: string;
  /** Picodollars. */
  spent: bigint;
  /** What the requests in flight are estimated to cost; part of the budget until they are settled. */
  reserved: bigint;
  inFlight: number;
}

export async function readLimitUse(
  redis: Redis,
  names: KeyNames,
  clock: Clock,
  workspace: string,
): Promise<LimitUse> {
  const now = clock.now();
  const month = monthOf(now);
  const [spent, reservations] = await Promise.all([
    redis.hget(names.spent(workspace), month),
    // One whose time is over belongs to a request that was lost; the next admission takes it away.
    redis.zrangebyscore(names.reservations(workspace), `(${Math.floor(now)}`, '+inf'),
  ]);
  const estimates = reservations.map((text) => BigInt(text.slice(text.lastIndexOf(':') + 1)));
  return {
    month,
    spent: BigInt(spent ?? 0),
    reserved: estimates.reduce((sum, estimate) => sum + estimate, 0n),
    inFlight: reservations.length,
  };
}
