/**
 * A workspace's own limits, exact over all api processes: requests per minute, requests in flight, and budgets.
 *
 * A request in flight holds a reservation: a place, and an estimate of its cost in every budget that concerns it. Settling the
 * request gives the reservation back and books the true cost. A reservation lapses soon, unless its job is queued
 * (lua/add-reserved.lua): an api process that dies before that takes its requests with it. When all processes of a queued
 * request die, its reservation lapses some time after the deadline.
 *
 * A request that would fit if others gave back what they hold waits for that (lua/parts/room.lua). The step that gives
 * something back reserves for the oldest one that waits, and sends a message to its api process.
 */

import type { Redis } from 'ioredis';
import { monthOf, windowOf } from '../calendar.js';
import { type Budget, budgetWords } from '../contract/budget.js';
import type { BudgetMode, LimitsConfig } from '../contract/limits.js';
import { GatewayError } from '../errors.js';
import type { ShardNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import { formatUsd } from '../registry/price.js';
import {
  type BudgetPart,
  type Counter,
  countersOf,
  hasBudget,
  hasOtherRoute,
  heldOf,
  limitOf,
  partOf,
  type Spender,
  toBudgetPicodollars,
} from './budgets.js';
import { WorkspaceMoved } from './workspace-moved.js';

const LAPSE_AFTER_DEADLINE_MS = 10_000;
/** The `retry-after` when others hold what is needed. A call takes about this long. */
const HELD_RETRY_MS = 1_000;
/** Longer than anybody waits, so that every line of a batch comes after every caller. */
const BEHIND_CALLERS_MS = 1_000_000_000_000;

/**
 * The member of the reservations. It contains the estimate and what is held of other budgets, so that giving it back is one
 * exact step.
 */
export function reservationOf(requestId: string, picodollars: number, held = ''): string {
  return held === '' ? `${requestId}:${picodollars}` : `${requestId}:${held}:${picodollars}`;
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

type Lack = readonly [place: number, spent: string, estimated: string, reserved: string];

/** '' is admitted, and `wait` waits. Otherwise what it lacks: a limit, or the lane that it would have waited in. */
type AdmitResult =
  | [as: '' | 'wait', turnMs: number]
  | [as: 'per_minute', place: 0, ms: string]
  | [as: 'moved', place: 0]
  | [as: string, ...lack: Lack];

interface RoomKeys {
  reservationsKey: string;
  reservedKey: string;
  spentKey: string;
  clockKey: string;
  money: string;
}

const admitScript = loadScript<
  AdmitResult,
  RoomKeys & { timesKey: string; fenceKey: string | undefined },
  { perMinute: number; mostWaitMs: number; again: number; last: number; wantText: string }
>(import.meta.url, 'admit-limited');

const releaseScript = loadScript<
  number,
  RoomKeys,
  { reservation: string; picodollars: number; held: string; id: string }
>(import.meta.url, 'release-reservation');

/** What lua/parts/room.lua reads. */
interface Want {
  id: string;
  inbox: string;
  /** Added to the moment since when it waits. Those with more come after those with less. */
  behind: number;
  reservation: string;
  lapsesAfter: number;
  concurrent: number;
  /** Of the monthly budget, if there is one. */
  month: string | undefined;
  budget: string;
  estimate: string;
  held: string;
  budgets: BudgetPart[];
}

export interface LimitedRequest extends Spender {
  requestId: string;
  workspace: string;
  /** The api process that is told when a request that waits may go on. */
  inbox: string;
  /** Picodollars. */
  estimates: Readonly<Record<BudgetMode, number>>;
  /** Redis time. */
  now: number;
  deadline: number;
  /** How long it may wait. */
  mostWaitMs: number;
  /** Its reservation lapses this long after its turn, unless its job is queued by then. Absent: it has no job of its own. */
  unqueuedMs?: number;
  /** A line of a batch waits behind all callers. */
  inBatch?: boolean;
  /** Budgets that are spent, and whose other route takes the request. */
  spent?: readonly Budget[];
}

/** `new`: the request has just come. `again`: it has waited, and may wait on. `last`: it has waited for long enough. */
export type AdmitStep = 'new' | 'again' | 'last';

export type Admitted =
  | { as: 'admitted'; reserved: number; held: string; turnMs: number }
  | { as: 'waits'; reserved: number; held: string; turnMs: number }
  /** `spent`: the budget that is spent, if it is none of a month of the workspace. */
  | { as: 'refused'; error: GatewayError; spent?: Budget };

export const NO_ESTIMATE = { strict: 0, expected: 0 } as const;

export class WorkspaceLimits {
  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
  ) {}

  /** Makes a reservation, lets the request wait for one, or returns why it is refused. */
  async admit(request: LimitedRequest, limits: LimitsConfig, step: AdmitStep = 'new'): Promise<Admitted> {
    const { requestId, workspace, estimates, now, deadline, mostWaitMs, unqueuedMs, spent } = request;
    const { requestsPerMinute = -1, concurrentRequests = -1, budgetUsdPerMonth, budget = 'strict' } = limits;
    const { names } = this;
    const reserved = budgetUsdPerMonth === undefined ? 0 : estimates[budget];
    const counters = limits.budgets ? countersOf(request, limits, now, spent) : [];
    const held = heldOf(counters, estimates);
    const want: Want = {
      id: requestId,
      inbox: names.inbox(request.inbox),
      behind: request.inBatch ? BEHIND_CALLERS_MS : 0,
      reservation: reservationOf(requestId, reserved, held),
      lapsesAfter: Math.ceil(unqueuedMs ?? deadline - now + LAPSE_AFTER_DEADLINE_MS),
      concurrent: concurrentRequests,
      month: budgetUsdPerMonth === undefined ? undefined : monthOf(now),
      budget: String(toBudgetPicodollars(budgetUsdPerMonth ?? 0)),
      estimate: String(reserved),
      held,
      budgets: counters.map((counter) => partOf(counter, estimates, now, lapsesAt(deadline))),
    };
    const result = await admitScript(
      this.redis,
      {
        ...this.#keys(workspace),
        timesKey: names.requestTimes(workspace),
        fenceKey: names.fence?.(workspace),
      },
      {
        perMinute: requestsPerMinute,
        mostWaitMs: Math.max(0, Math.floor(mostWaitMs)),
        again: step === 'new' ? 0 : 1,
        last: step === 'last' ? 1 : 0,
        wantText: JSON.stringify(want),
      },
    );
    const [as, place, ...state] = result;
    if (as === '') return { as: 'admitted', reserved, held, turnMs: place };
    if (as === 'moved') throw new WorkspaceMoved();
    if (as === 'wait') return { as: 'waits', reserved, held, turnMs: place };
    const counter = counters[place - 1];
    const error = refusal(as, state as string[], request, limits, counter);
    return as === 'spent' && counter
      ? { as: 'refused', error, spent: counter.budget }
      : { as: 'refused', error };
  }

  /** Gives back what a request holds that does not go on, or ends its wait. */
  async release(workspace: string, id: string, picodollars: number, held = ''): Promise<void> {
    const reservation = reservationOf(id, picodollars, held);
    await releaseScript(this.redis, this.#keys(workspace), { reservation, picodollars, held, id });
  }

  #keys(workspace: string): RoomKeys {
    const { names } = this;
    return {
      reservationsKey: names.reservations(workspace),
      reservedKey: names.reserved(workspace),
      spentKey: names.spent(workspace),
      clockKey: names.clock,
      money: names.money(workspace),
    };
  }
}

/**
 * Why a budget could not cover the request even while nothing of it is spent. The text is the same for all such requests. A
 * budget with another route covers no more than is left of it.
 */
export function whyNeverCovered(
  request: Spender & Pick<LimitedRequest, 'estimates' | 'now' | 'spent'>,
  limits: LimitsConfig,
  leftOf: (counter: Counter) => bigint,
): Extract<Admitted, { as: 'refused' }> | undefined {
  const { estimates, now, spent } = request;
  const { budgetUsdPerMonth, budget = 'strict' } = limits;
  const counter = countersOf(request, limits, now, spent).find(
    (each) => estimates[each.budget.mode ?? 'strict'] > (hasOtherRoute(each) ? leftOf(each) : limitOf(each)),
  );
  if (counter) {
    const error = neverCovered(`The budget for ${budgetWords(counter.budget)},`, limitOf(counter));
    return { as: 'refused', error, spent: counter.budget };
  }
  if (budgetUsdPerMonth === undefined || estimates[budget] <= toBudgetPicodollars(budgetUsdPerMonth))
    return undefined;
  const whole = toBudgetPicodollars(budgetUsdPerMonth);
  return { as: 'refused', error: neverCovered('The monthly budget of this workspace', whole) };
}

function neverCovered(whose: string, whole: bigint): GatewayError {
  const message = `${whose} does not cover the request, which may cost more than all of its ${formatUsd(whole)} USD.`;
  return new GatewayError('budget_exceeded', message, { reason: 'budget_too_small' });
}

function refusal(
  lacks: string,
  state: readonly string[],
  request: LimitedRequest,
  limits: LimitsConfig,
  counter: Counter | undefined,
): GatewayError {
  switch (lacks) {
    case 'per_minute':
      return new GatewayError(
        'rate_limited',
        `This workspace may send ${limits.requestsPerMinute} requests a minute.`,
        { retryAfterMs: Number(state[0]), reason: 'workspace_requests_per_minute' },
      );
    case 'places':
      return new GatewayError(
        'rate_limited',
        `This workspace may have ${limits.concurrentRequests} requests in flight.`,
        { retryAfterMs: HELD_RETRY_MS, reason: 'workspace_concurrency' },
      );
    case 'values':
      return new GatewayError(
        'budget_exceeded',
        `This workspace has a budget for ${counter ? budgetWords(counter.budget) : 'each value'}, and has reached the most values that are counted at a time. A new value is refused.`,
        { reason: 'budget_values' },
      );
    default:
      return overBudget(lacks === 'spent', state, request, limits, counter);
  }
}

/** `state`: the part of the budget that is spent, estimated and reserved, in picodollars. */
function overBudget(
  isSpent: boolean,
  [spent = '0', estimated = '0', reserved = '0']: readonly string[],
  { estimates, now }: LimitedRequest,
  limits: LimitsConfig,
  counter: Counter | undefined,
): GatewayError {
  const budget = counter ? limitOf(counter) : toBudgetPicodollars(limits.budgetUsdPerMonth ?? 0);
  const mode = (counter ? counter.budget.mode : limits.budget) ?? 'strict';
  const { end } = counter?.window ?? windowOf('month', now, 'UTC');
  const cost = mode === 'expected' ? 'is expected to cost' : 'may cost up to';
  const whose = counter
    ? `The budget for ${budgetWords(counter.budget)},`
    : 'The monthly budget of this workspace';
  const free = budget - BigInt(spent) - BigInt(estimated);
  const left = free - BigInt(reserved);
  const facts = [
    `${usd(left)} USD of ${formatUsd(budget)} USD is left`,
    `${formatUsd(BigInt(spent) + BigInt(estimated))} USD is spent`,
    `${formatUsd(BigInt(reserved))} USD is reserved by other requests`,
  ];
  const renews =
    end === undefined ? 'It does not renew.' : `It renews at ${new Date(end).toISOString().slice(0, 19)}Z.`;
  const message = `${whose} does not cover the request, which ${cost} ${formatUsd(estimates[mode])} USD: ${facts.join(', ')}. ${renews}`;
  if (!isSpent)
    return new GatewayError('budget_exceeded', message, {
      retryAfterMs: HELD_RETRY_MS,
      reason: 'budget_reserved',
    });
  const reason = free > 0n ? 'budget_too_small' : 'budget_spent';
  return new GatewayError(
    'budget_exceeded',
    message,
    end === undefined ? { reason } : { reason, retryAfterMs: end - now },
  );
}

function usd(amount: bigint): string {
  return formatUsd(amount > 0n ? amount : 0n);
}

export function isLimited(limits: LimitsConfig): boolean {
  const { requestsPerMinute, concurrentRequests, unpricedModels } = limits;
  return (
    (requestsPerMinute ?? concurrentRequests) !== undefined ||
    unpricedModels === 'refuse' ||
    hasBudget(limits)
  );
}
