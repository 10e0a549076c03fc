/** The classes of requests, the most urgent first. */
export const PRIORITIES = ['interactive', 'normal', 'background'] as const;
export type Priority = (typeof PRIORITIES)[number];

export const DEFAULT_PRIORITY: Priority = 'normal';

/** What a key says about the class of its requests. */
export interface KeyPriority {
  /** Of a request that names none. */
  priority?: Priority | undefined;
  /** The highest that a request may name; without it, the one above. */
  maxPriority?: Priority | undefined;
}

/** 1 is the most urgent. BullMQ has this number as the priority of a job that waits. */
export function rankOf(priority: Priority = DEFAULT_PRIORITY): number {
  return PRIORITIES.indexOf(priority) + 1;
}

/** The class of a request that names `wanted` or none. A class above what the key allows is lowered to that. */
export function priorityOf({ priority, maxPriority }: KeyPriority, wanted?: Priority): Priority {
  return lower(wanted ?? priority ?? DEFAULT_PRIORITY, ceilingOf({ priority, maxPriority }));
}

/** The highest class that a request of the key may have. */
export function ceilingOf({ priority, maxPriority }: KeyPriority): Priority {
  return maxPriority ?? priority ?? DEFAULT_PRIORITY;
}

function lower(a: Priority, b: Priority): Priority {
  return rankOf(a) > rankOf(b) ? a : b;
}

/** How long a request may wait for its turn. One of the background waits as long as its deadline allows. */
export function waitUntil(
  { priority, deadline }: { priority?: Priority; deadline: number },
  now: number,
  maxWaitMs: number,
): number {
  return priority === 'background' ? deadline : Math.min(now + maxWaitMs, deadline);
}
