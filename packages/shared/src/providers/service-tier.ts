import type { ChatRequest } from '../chat.js';

/** Tiers with a capacity of their own: one of them may be short while the model serves everybody else. */
const APART: ReadonlySet<unknown> = new Set(['flex', 'priority', 'scale', 'ultrafast']);

/** The tier whose capacity the request asks for; undefined for the common one. */
export function tierApart({ service_tier: tier }: ChatRequest): string | undefined {
  return APART.has(tier) ? (tier as string) : undefined;
}
