import { PROTOCOLS } from '@sluice/shared/process/protocol';
import { speaking } from './other-version.js';

const { oldest, newest } = PROTOCOLS;

/** What only the next version speaks. */
export const NEXT_PROTOCOL = newest + 1;
/** The environment of a process of the next version, and of the one before. */
export const NEXT = speaking({ oldest: newest, newest: NEXT_PROTOCOL });
export const BEFORE = speaking({ oldest, newest: newest - 1 });
