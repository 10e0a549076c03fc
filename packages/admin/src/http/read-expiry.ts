import { refuse } from './read-input.js';

/** When something that is issued now expires. Null: never. Undefined: nothing was said. */
export function readExpiry<N extends null | undefined>(given: string | N, now: number): number | N {
  if (given === null || given === undefined) return given;
  const time = Date.parse(given);
  if (time <= now) refuse('expires_at', 'must be in the future');
  return time;
}
