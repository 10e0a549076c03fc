import type { ProviderFailure } from '../providers/types.js';

const FIRST_MS = 200;
const MOST_MS = 5_000;
/** When a provider asks for a longer wait, the next entry of the chain is the better retry. */
const MOST_ASKED_MS = 10_000;
/** The same call would be refused again. */
const NEVER_OTHERWISE: ReadonlySet<string> = new Set(['unsupported', 'refused_field']);

/**
 * How long to wait before an entry's own retry. Undefined when the entry is not called again. The wait doubles with every
 * call, is random so that workers do not come back together, and is never shorter than the provider asks.
 */
export function waitBeforeRetry(
  calls: number,
  failure: ProviderFailure,
  random: () => number = Math.random,
): number | undefined {
  if (!failure.fallback || failure.coolDown !== undefined || NEVER_OTHERWISE.has(failure.outcome))
    return undefined;
  // A broken connection says nothing about the next one.
  if (failure.outcome === 'unknown') return 0;
  const asked = failure.retryAfterMs ?? 0;
  if (asked > MOST_ASKED_MS) return undefined;
  const backOff = Math.min(FIRST_MS * 2 ** calls, MOST_MS);
  return asked + backOff * (0.5 + random() / 2);
}
