/** What a workspace has used of its limits. */

import { monthOf } from '@sluice/shared/calendar';
import { estimatedMonth } from '@sluice/shared/queue/workspace-limits';
import type { Clock } from '@sluice/shared/redis/clock';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';

export interface LimitUse {
  /** `2026-11`, UTC: the month that a budget is for. */
  month: string;
  /** Picodollars, exactly. */
  spent: bigint;
  /** What the calls whose bill nobody knows may have cost. */
  estimated: bigint;
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
  const [[spent, estimated], reservations] = await Promise.all([
    redis.hmget(names.spent(workspace), month, estimatedMonth(month)),
    // One whose time is over belongs to a request that was lost; the next admission takes it away.
    redis.zrangebyscore(names.reservations(workspace), `(${Math.floor(now)}`, '+inf'),
  ]);
  const estimates = reservations.map((text) => BigInt(text.slice(text.lastIndexOf(':') + 1)));
  return {
    month,
    spent: BigInt(spent ?? 0),
    estimated: BigInt(estimated ?? 0),
    reserved: estimates.reduce((sum, estimate) => sum + estimate, 0n),
    inFlight: reservations.length,
  };
}

/** What of a budget is neither spent nor held back. Less than nothing when more was spent than was estimated. */
export function leftOf(budget: bigint, { spent, estimated, reserved }: LimitUse): bigint {
  return budget - spent - estimated - reserved;
}
