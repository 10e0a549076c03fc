/** The classes of requests, the most urgent first. */
export const PRIORITIES = ['interactive', 'normal', 'background'] as const;
export type Priority = (typeof PRIORITIES)[number];

export const DEFAULT_PRIORITY: Priority = 'normal';

/** The part of a key that concerns the class of its requests. */
export interface KeyPriority {
  /** The class of a request that names none. */
  priority?: Priority | undefined;
  /** The highest class that a request may name. The default is `priority`. */
  maxPriority?: Priority | undefined;
}

/** 1 is the most urgent. The number is the BullMQ priority of a waiting job. */
export function rankOf(priority: Priority = DEFAULT_PRIORITY): number {
  return PRIORITIES.indexOf(priority) + 1;
}

/** The class of a request that names `wanted` or no class. A class above the key's highest is lowered to the highest. */
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

/** How long a request may wait for its turn. A background request may wait until its deadline. */
export function waitUntil(
  { priority, deadline }: { priority?: Priority; deadline: number },
  now: number,
  maxWaitMs: number,
): number {
  return priority === 'background' ? deadline : Math.min(now + maxWaitMs, deadline);
}

/** The classes of a key as the admin api shows them. */
export interface ShownClasses {
  priority: Priority;
  max_priority: Priority;
}

export function presentClasses(key: KeyPriority): ShownClasses {
  return { priority: priorityOf(key), max_priority: ceilingOf(key) };
}

export function classesOf({ priority, max_priority: maxPriority }: ShownClasses): KeyPriority {
  return { priority, maxPriority };
}

/** `normal, up to interactive` */
export function classText({ priority, max_priority: most }: ShownClasses): string {
  return priority === most ? priority : `${priority}, up to ${most}`;
}
