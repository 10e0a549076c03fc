/** The classes of requests, and those that a key gives to its own. */
import type { CamelFields } from './names.js';
import * as s from './structs.js';

/** The most urgent first. */
export const PRIORITIES = ['interactive', 'normal', 'background'] as const;
export type Priority = (typeof PRIORITIES)[number];

export const DEFAULT_PRIORITY: Priority = 'normal';

const priority = s.choice(...PRIORITIES);
export const classFields = {
  priority: priority.about('The class of its requests that name none.'),
  max_priority: priority.about(
    'The highest class that a request may name; by default the one of `priority`.',
  ),
};
/** The classes of a key as the admin api shows them. */
type ShownClasses = s.FieldsOf<typeof classFields>;

/** The classes that a key may be given, in the admin api and in gateway.yaml. */
export const classes = s.partial(classFields);
export type KeyPriority = Partial<CamelFields<s.FieldsOf<typeof classes>>>;

export function* classMistakes({ priority, max_priority: maxPriority }: s.Unread): Iterable<s.Finding> {
  if (!isPriority(priority) || !(isPriority(maxPriority) || maxPriority === undefined)) return;
  if (rankOf(priority) < rankOf(ceilingOf({ priority, maxPriority })))
    yield { at: 'priority', message: 'cannot be above max_priority' };
}

function isPriority(value: unknown): value is Priority {
  return PRIORITIES.some((each) => each === value);
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

/** What says how long a request may wait. */
interface Patience {
  priority?: Priority;
  deadline: number;
  plan?: unknown;
  /** Nobody waits for it. */
  inBackground?: boolean;
}

/**
 * How long a request may wait for its turn. One of the background class, one that nobody waits for, and one that names a deadline
 * may wait until it. Others wait for so long after `from`, if that is later than now.
 */
export function waitUntil(
  { priority, deadline, plan, inBackground }: Patience,
  now: number,
  maxWaitMs: number,
  from = now,
): number {
  if (priority === 'background' || plan !== undefined || inBackground) return deadline;
  return Math.min(Math.max(now, from) + maxWaitMs, deadline);
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
