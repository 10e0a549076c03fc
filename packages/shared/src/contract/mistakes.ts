import { distance } from 'fastest-levenshtein';
import type { Failure } from 'superstruct';
import { pathText } from './path-text.js';
import { isText } from './references.js';
import type { Finding, Shape } from './shape.js';

/**
 * A mistake in a configuration. Invariant: a mistake names the place and the allowed values. It never names the value
 * that was found, because that value may be a secret in the wrong place.
 */
export interface Mistake {
  /** `workspaces[0].routes.fast[1].provider`, an environment variable, or `line 3:5` of the file; '' is the whole. */
  path: string;
  message: string;
  /** The line of the file, where there is a file. */
  line?: number | undefined;
}

/** More are not read by anybody. */
export const MOST_SHOWN = 100;

/** Carries the mistakes, so that one run shows what has to be corrected. */
export class MistakesError extends Error {
  readonly mistakes: readonly Mistake[];

  constructor(source: string, mistakes: readonly Mistake[]) {
    // A field that is needed in two places is wrong once.
    const distinct = new Map(mistakes.slice(0, MOST_SHOWN).map((mistake) => [mistakeText(mistake), mistake]));
    const more = Math.max(0, mistakes.length - MOST_SHOWN);
    const count = distinct.size + more;
    const lines = [...distinct.keys(), ...(more > 0 ? [`… and ${more} more`] : [])];
    super([`${source}: ${count === 1 ? '1 mistake' : `${count} mistakes`}`, ...lines].join('\n  '));
    this.mistakes = [...distinct.values()];
  }
}

export function mistakeText({ path, message, line }: Mistake): string {
  const place = line === undefined || path.startsWith('line ') ? '' : `line ${line}: `;
  return `${place}${path === '' ? '' : `${path}: `}${message}`;
}

/** The candidate that was probably meant: `baseUrl` and `base_ur` both mean `base_url`. */
export function closest(word: string, candidates: readonly string[]): string | undefined {
  const wanted = plain(word);
  let best: string | undefined;
  let bestDistance = Math.min(3, Math.ceil(wanted.length / 2));
  for (const candidate of candidates) {
    const far = distance(wanted, plain(candidate));
    if (far < bestDistance) [best, bestDistance] = [candidate, far];
  }
  return best;
}

const plain = (word: string): string => word.slice(0, 64).toLowerCase().replace(/[_-]/g, '');

/** The value in the form of its contract, or everything that is wrong with it. */
export function read<T>(shape: Shape<T>, value: unknown): { value?: T; mistakes: Mistake[] } {
  const [error, valid] = shape.validate(value, { coerce: true });
  return error ? { mistakes: error.failures().map(toMistake) } : { value: valid as T, mistakes: [] };
}

function toMistake(failure: Failure & Partial<Finding>): Mistake {
  const { path, message, refinement, value, candidates, word = value } = failure;
  // Of one that is allowed the message has already said it.
  const meant =
    candidates && candidates.length > 1 && typeof word === 'string' ? closest(word, candidates) : undefined;
  const whole =
    refinement !== undefined
      ? message
      : value === undefined || value === null
        ? `is missing; must be ${message}`
        : `must be ${message}, not ${typeName(value)}`;
  return { path: pathText(path), message: meant === undefined ? whole : `${whole}; did you mean ${meant}?` };
}

function typeName(value: unknown): string {
  if (isText(value)) return 'a string';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`;
}
