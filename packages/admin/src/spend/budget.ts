/** Reads how much of its limits a workspace has used. */

import { monthOf } from '@sluice/shared/calendar';
import { toBudgetPicodollars } from '@sluice/shared/queue/budgets';
import { estimatedMonth, refusingMonth, refusingSince } from '@sluice/shared/queue/workspace-limits';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';
import { isoOrNull } from '../http/present.js';

export interface LimitUse {
  /** `2026-11`, UTC: the month that a budget is for. */
  month: string;
  /** Exact picodollars. */
  spent: bigint;
  /** The estimated cost of the calls whose bill nobody knows. */
  estimated: bigint;
  /** The estimated cost of the requests in flight. It counts as used until they are settled. */
  reserved: bigint;
  inFlight: number;
  /** The field of the month that says since when the budget refuses (workspace-limits.ts). */
  refusing: string | null;
}

export async function readLimitUse(
  redis: Redis,
  names: ShardNames,
  clock: Clock,
  workspace: string,
): Promise<LimitUse> {
  const now = clock.now();
  const month = monthOf(now);
  const [[spent, estimated, refusing], reservations] = await Promise.all([
    redis.hmget(names.spent(workspace), month, estimatedMonth(month), refusingMonth(month)),
    // A reservation whose time is over belongs to a lost request. The next admission removes it.
    redis.zrangebyscore(names.reservations(workspace), `(${Math.floor(now)}`, '+inf'),
  ]);
  const estimates = reservations.map((text) => BigInt(text.slice(text.lastIndexOf(':') + 1)));
  return {
    month,
    spent: BigInt(spent ?? 0),
    estimated: BigInt(estimated ?? 0),
    reserved: estimates.reduce((sum, estimate) => sum + estimate, 0n),
    inFlight: reservations.length,
    refusing: refusing ?? null,
  };
}

/** The part of a budget that is neither spent nor reserved. Negative when more was spent than estimated. */
export function leftOf(budget: bigint, { spent, estimated, reserved }: LimitUse): bigint {
  return budget - spent - estimated - reserved;
}

/** Since when the workspace's budget refuses every request, in ISO 8601. Null: it does not. */
export function refusingSinceOf(budgetUsd: number | undefined, use: LimitUse): string | null {
  if (budgetUsd === undefined) return null;
  return isoOrNull(refusingSince(use.refusing, leftOf(toBudgetPicodollars(budgetUsd), use)));
}
