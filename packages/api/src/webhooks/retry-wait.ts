/** How long a message is tried, and how long it waits between two attempts. */
const RETRY_FACTOR = 4;
const LONGEST_RETRY_MS = 6 * 3_600_000;
export const TRIED_FOR_MS = 86_400_000;

/** With the default: 5 s, 20 s, 80 s, 5 min, 21 min, 85 min, 6 h and so on, a tenth more or less. */
export function retryWait(attempts: number, firstMs: number): number {
  const waitMs = Math.min(LONGEST_RETRY_MS, firstMs * RETRY_FACTOR ** Math.min(attempts - 1, 20));
  return waitMs * (0.9 + 0.2 * Math.random());
}
