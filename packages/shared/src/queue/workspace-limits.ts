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
import { READ_CLOCK } from '../redis/clock.js';
import type { KeyNames } from '../redis/key-names.js';
import { createScript } from '../redis/script.js';
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

// Redis itself adds up money (INCRBY, HGET), because Lua's numbers are doubles. Doubles are good enough to compare.
const admitScript = createScript<
  [
    refused: '' | 'per_minute' | 'concurrent' | 'budget',
    retryAfterMs: number,
    spent?: string,
    estimated?: string,
    reserved?: string,
  ]
>(
  'sluiceAdmitLimited',
  `${READ_CLOCK('KEYS[5]')}
local timesKey, reservationsKey, reservedKey, spentKey = unpack(KEYS)
local perMinute, concurrent, budget = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local month, estimatedMonth, refusingMonth, reservation, estimate, lapsesAfter = unpack(ARGV, 4, 9)
local now = readClock()

for _, lapsed in ipairs(redis.call('ZRANGEBYSCORE', reservationsKey, '-inf', now)) do
  redis.call('ZREM', reservationsKey, lapsed)
  redis.call('DECRBY', reservedKey, string.match(lapsed, ':(%d+)$'))
end
if concurrent >= 0 and redis.call('ZCARD', reservationsKey) >= concurrent then return {'concurrent', 1000} end
if budget >= 0 then
  local spent, estimated, refusing = unpack(redis.call('HMGET', spentKey, month, estimatedMonth, refusingMonth))
  spent, estimated = spent or '0', estimated or '0'
  local reserved = redis.call('GET', reservedKey) or '0'
  if tonumber(spent) + tonumber(estimated) + tonumber(reserved) + tonumber(estimate) > budget then
    local since, least = string.match(refusing or '', '^(%d+):(%d+)$')
    if not since or tonumber(estimate) < tonumber(least) then
      redis.call('HSET', spentKey, refusingMonth, (since or string.format('%d', now)) .. ':' .. estimate)
    end
    return {'budget', 0, spent, estimated, reserved}
  end
  if refusing then redis.call('HDEL', spentKey, refusingMonth) end
end
if perMinute >= 0 then
  local oldest = redis.call('LINDEX', timesKey, perMinute - 1)
  if oldest and tonumber(oldest) > now then
    -- The clock was far ahead when these came. They count from now on.
    redis.call('DEL', timesKey)
    for _ = 1, perMinute do redis.call('LPUSH', timesKey, string.format('%d', now)) end
    redis.call('PEXPIRE', timesKey, 60000)
    oldest = now
  end
  if oldest and now - tonumber(oldest) < 60000 then return {'per_minute', 60000 - (now - tonumber(oldest))} end
  redis.call('LPUSH', timesKey, string.format('%d', now))
  redis.call('LTRIM', timesKey, 0, perMinute - 1)
  redis.call('PEXPIRE', timesKey, 60000)
end
-- A request may be sent again, such as a line of a batch. It has its place already.
if redis.call('ZADD', reservationsKey, string.format('%d', now + tonumber(lapsesAfter)), reservation) == 1 then
  redis.call('INCRBY', reservedKey, estimate)
end
return {'', 0}
`,
);

const releaseScript = createScript<number>(
  'sluiceReleaseReservation',
  `
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call('DECRBY', KEYS[2], ARGV[2])
`,
);

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
      [
        names.requestTimes(workspace),
        names.reservations(workspace),
        names.reserved(workspace),
        names.spent(workspace),
        names.clock,
      ],
      [
        requestsPerMinute,
        concurrentRequests,
        budget,
        monthOf(now),
        estimatedMonth(monthOf(now)),
        refusingMonth(monthOf(now)),
        reservationOf(requestId, estimate),
        estimate,
        Math.ceil(deadline - now) + LAPSE_AFTER_DEADLINE_MS,
      ],
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
      [names.reservations(workspace), names.reserved(workspace)],
      [reservationOf(id, picodollars), picodollars],
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
