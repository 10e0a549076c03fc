import type { ChatRequest } from '../chat.js';

/** These tiers have their own capacity. One of them may be short while the model serves all others. */
const APART: ReadonlySet<unknown> = new Set(['flex', 'priority', 'scale', 'ultrafast']);

/** The tier whose capacity the request asks for. Undefined for the common capacity. */
export function tierApart({ service_tier: tier }: ChatRequest): string | undefined {
  return APART.has(tier) ? (tier as string) : undefined;
}
