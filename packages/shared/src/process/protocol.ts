/**
 * The version of what crosses Redis between processes: jobs, replies, and the scripts that write them. Raise `newest` when a
 * process of the version before would misread something. A process speaks at least the two newest ones, so that adjacent
 * versions work together in any order.
 */
export interface Protocols {
  oldest: number;
  newest: number;
}

export const PROTOCOLS: Protocols = { oldest: 1, newest: 3 };

/** From this version on a large request is sealed as bytes, and its job says where the messages are. */
export const LARGE_AS_BYTES = 2;

/** From this version on an api process knows that a job which has given up its place in a full queue is still in Redis. */
export const DISPLACED_STAYS = 2;

/** From this version on a job may ask for embeddings. */
export const EMBEDDINGS = 3;

/** From this version on workers take jobs that have time until a deadline (queue/plan.ts). */
export const DEADLINES = 3;

/** The number of what older versions wrote without a number. */
const FIRST = 1;

export function isSpoken(protocol: number = FIRST): boolean {
  return protocol >= PROTOCOLS.oldest && protocol <= PROTOCOLS.newest;
}

/** The newest protocol that all of these speak. Our oldest one when there is none, or when nobody is known yet. */
export function commonProtocol(others: readonly (Protocols | undefined)[]): number {
  if (others.length === 0) return PROTOCOLS.oldest;
  const newest = others.map((other) => other?.newest ?? FIRST);
  return Math.max(PROTOCOLS.oldest, Math.min(PROTOCOLS.newest, ...newest));
}
