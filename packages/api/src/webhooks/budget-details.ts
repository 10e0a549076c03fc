/** What a message about a budget says, made of what the script told (lua/parts/book.lua). */
import type { Budget } from '@sluice/shared/contract/budget';
import { formatUsd } from '@sluice/shared/registry/price';

interface Told {
  threshold: number;
  limit: string;
  spent: string;
  estimated: string;
  what: Pick<Budget, 'scope' | 'window' | 'tag'> & { value?: string; since: number; isSpare: boolean };
}

const DAY_MS = 86_400_000;
/** The pace of a window's first moments says nothing. */
const SHORTEST_MS = 60_000;

export function budgetDetails(text: string, at: number): Record<string, unknown> {
  const { threshold, limit, spent, estimated, what } = JSON.parse(text) as Told;
  const taken = BigInt(spent) + BigInt(estimated);
  const days = Math.max(at - what.since, SHORTEST_MS) / DAY_MS;
  return {
    threshold_percent: threshold,
    scope: what.scope,
    window: what.window,
    tag: what.tag ?? null,
    value: what.value || null,
    budget_usd: formatUsd(BigInt(limit)),
    spent_usd: formatUsd(taken),
    // A budget without an end has no beginning either.
    pace_usd_per_day: what.since === 0 ? null : formatUsd(BigInt(Math.round(Number(taken) / days))),
    since: what.since === 0 ? null : new Date(what.since).toISOString(),
  };
}
