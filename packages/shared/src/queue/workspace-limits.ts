/**
 * A workspace's own limits, exact over all api processes: requests per minute, requests in flight, and a monthly budget.
 *
 * A request in flight holds a reservation: a place and an estimate of its cost. Settling the request gives the reservation
 * back and books the true cost. When all processes of a request die, its reservation lapses some time after the deadline.
 */

import type { Redis } from 'ioredis';
import { monthOf } from '../calendar.js';
import type { LimitsConfig } from '../contract/limits.js';
import { GatewayError } from '../errors.js';
import type { KeyNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import { formatUsd } from '../registry/price.js';

const LAPSE_AFTER_DEADLINE_MS = 10_000;

/** The member of the reservations. It contains the estimate, so that giving it back is one exact step. */
export function reservationOf(requestId: string, picodollars: number): string {
  return `${requestId}:${picodollars}`;
}

/** When a reservation lapses if all processes of its request have died. Redis time. */
export function lapsesAt(deadline: number): number {
  return Math.ceil(deadline) + LAPSE_AFTER_DEADLINE_MS;
}

/** The field beside a month's exact spend. It has the estimated cost of calls whose bill nobody knows. */
export function estimatedMonth(month: string): string {
  return `${month}:estimated`;
}

/** The field that says since when the month's budget refuses every request: `<ms>:<the least estimate refused>`. */
export function refusingMonth(month: string): string {
  return `${month}:refusing`;
}

/** Since when the budget refuses, in ms. Undefined: what is left of it would cover the cheapest request that it refused. */
export function refusingSince(field: string | null | undefined, left: bigint): number | undefined {
  const [since, estimate] = field?.split(':') ?? [];
  if (since === undefined || estimate === undefined) return undefined;
  return BigInt(estimate) > left ? Number(since) : undefined;
}

const admitScript = loadScript<
  [
    refused: '' | 'per_minute' | 'concurrent' | 'budget',
    retryAfterMs: number,
    spent?: string,
    estimated?: string,
    reserved?: string,
  ],
  { timesKey: string; reservationsKey: string; reservedKey: string; spentKey: string; clockKey: string },
  {
    perMinute: number;
    concurrent: number;
    budget: string | number;
    month: string;
    estimatedMonth: string;
    refusingMonth: string;
    reservation: string;
    estimate: number;
    lapsesAfter: number;
  }
>(import.meta.url, 'admit-limited');

const releaseScript = loadScript<
  number,
  { reservationsKey: string; reservedKey: string },
  { reservation: string; picodollars: number }
>(import.meta.url, 'release-reservation');

export interface LimitedRequest {
  requestId: string;
  workspace: string;
  /** Picodollars. */
  estimate: number;
  /** Redis time. */
  now: number;
  deadline: number;
}

export class WorkspaceLimits {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
  ) {}

  /** Makes a reservation, or returns why the request is refused. */
  async admit(request: LimitedRequest, limits: LimitsConfig): Promise<GatewayError | undefined> {
    const { requestId, workspace, estimate, now, deadline } = request;
    const { requestsPerMinute = -1, concurrentRequests = -1, budgetUsdPerMonth } = limits;
    const budget = budgetUsdPerMonth === undefined ? -1 : String(toBudgetPicodollars(budgetUsdPerMonth));
    const { names } = this;
    const [refused, retryAfterMs, ...taken] = await admitScript(
      this.redis,
      {
        timesKey: names.requestTimes(workspace),
        reservationsKey: names.reservations(workspace),
        reservedKey: names.reserved(workspace),
        spentKey: names.spent(workspace),
        clockKey: names.clock,
      },
      {
        perMinute: requestsPerMinute,
        concurrent: concurrentRequests,
        budget,
        month: monthOf(now),
        estimatedMonth: estimatedMonth(monthOf(now)),
        refusingMonth: refusingMonth(monthOf(now)),
        reservation: reservationOf(requestId, estimate),
        estimate,
        lapsesAfter: Math.ceil(deadline - now) + LAPSE_AFTER_DEADLINE_MS,
      },
    );
    switch (refused) {
      case '':
        return undefined;
      case 'budget':
        return overBudget(estimate, limits, taken);
      case 'concurrent':
        return new GatewayError(
          'rate_limited',
          `This workspace may have ${concurrentRequests} requests in flight.`,
          {
            retryAfterMs,
            reason: 'workspace_concurrency',
          },
        );
      case 'per_minute':
        return new GatewayError(
          'rate_limited',
          `This workspace may send ${requestsPerMinute} requests a minute.`,
          {
            retryAfterMs,
            reason: 'workspace_requests_per_minute',
          },
        );
    }
  }

  /** Gives back a reservation of something that does not happen. */
  async release(workspace: string, id: string, picodollars: number): Promise<void> {
    const { names } = this;
    await releaseScript(
      this.redis,
      { reservationsKey: names.reservations(workspace), reservedKey: names.reserved(workspace) },
      { reservation: reservationOf(id, picodollars), picodollars },
    );
  }

  /** Gives back the place of a request that is not settled, because it never costs anything. */
  async leave({ requestId, workspace }: Pick<LimitedRequest, 'requestId' | 'workspace'>): Promise<void> {
    await this.redis.zrem(this.names.reservations(workspace), reservationOf(requestId, 0));
  }
}

/** `taken`: the part of the budget that is spent, estimated or reserved, in picodollars. */
function overBudget(
  estimate: number,
  { budgetUsdPerMonth = 0, budget: mode }: LimitsConfig,
  taken: readonly (string | undefined)[],
): GatewayError {
  const budget = toBudgetPicodollars(budgetUsdPerMonth);
  const cost = mode === 'expected' ? 'is expected to cost' : 'may cost up to';
  const left = taken.reduce((rest, amount) => rest - BigInt(amount ?? 0), budget);
  return new GatewayError(
    'budget_exceeded',
    `The monthly budget of this workspace does not cover the request: it ${cost} ${formatUsd(estimate)} USD, ` +
      `and ${formatUsd(left > 0n ? left : 0n)} USD of ${formatUsd(budget)} USD is left.`,
    { reason: left > 0n ? 'budget_too_small' : 'budget_spent' },
  );
}

/** Exact for every amount with six decimals. A double times 10¹² would not be. */
export function toBudgetPicodollars(usd: number): bigint {
  const microdollars = BigInt(Math.round(usd * 1e6));
  return microdollars * 1_000_000n;
}

export function isLimited(limits: LimitsConfig): boolean {
  const { requestsPerMinute, concurrentRequests, budgetUsdPerMonth, unpricedModels } = limits;
  return (
    (requestsPerMinute ?? concurrentRequests ?? budgetUsdPerMonth) !== undefined ||
    unpricedModels === 'refuse'
  );
}
