import { distance } from 'fastest-levenshtein';

/**
 * What is wrong in a configuration. Invariant: a fault names the place and what is allowed there, never the value
 * that was found, because that may be a secret in the wrong place.
 */
export interface Fault {
  /** `workspaces[0].routes.fast[1].provider`, an environment variable, or `line 3:5` of the file; '' is the whole. */
  path: string;
  message: string;
  /** Of the file, where there is one. */
  line?: number | undefined;
}

/** Carries all faults that were found, so that one run shows everything there is to correct. */
export class FaultsError extends Error {
  readonly faults: readonly Fault[];

  constructor(source: string, faults: readonly Fault[]) {
    const lines = faults.map((fault) => `  ${faultText(fault)}`);
    const count = faults.length === 1 ? '1 mistake' : `${faults.length} mistakes`;
    super([`${source}: ${count}`, ...lines].join('\n'));
    this.faults = faults;
  }
}

export function faultText({ path, message, line }: Fault): string {
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
