/** The headers in which providers say how much of their limits per minute is left. */
import type { RatesLeft } from '@sluice/shared/queue/rates';
import type { Headers } from './types.js';

/** The part of the header's name that differs by type of limit, at OpenAI and at Anthropic. */
const NAMES = { r: 'requests', t: 'tokens', i: 'input-tokens', o: 'output-tokens' } as const;
const WHOLE = /^\d{1,12}$/;

/** Undefined when nothing was said. What is zero, unknown or impossible counts as not said. */
export function readRatesLeft(headers: Headers): RatesLeft | undefined {
  const left: RatesLeft = {};
  let said = false;
  for (const [type, name] of Object.entries(NAMES) as [keyof RatesLeft, string][]) {
    const remaining =
      numberOf(headers[`x-ratelimit-remaining-${name}`]) ??
      numberOf(headers[`anthropic-ratelimit-${name}-remaining`]);
    const limit =
      numberOf(headers[`x-ratelimit-limit-${name}`]) ??
      numberOf(headers[`anthropic-ratelimit-${name}-limit`]);
    if (remaining === undefined || limit === undefined || remaining > limit) continue;
    left[type] = remaining;
    said = true;
  }
  return said ? left : undefined;
}

function numberOf(header: string | string[] | undefined): number | undefined {
  const number = typeof header === 'string' && WHOLE.test(header) ? Number(header) : 0;
  return number > 0 ? number : undefined;
}
