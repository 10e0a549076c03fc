/** `<<: *defaults` of YAML 1.1, which Python reads and YAML 1.2 does not have. */
import type { Mistake } from '@sluice/shared/contract/mistakes';
import { isMap } from '@sluice/shared/contract/structs';

/** Maps that merge each other again and again would grow without end. */
const MOST_FIELDS = 1_000_000;

/** The value with the fields of the maps that its maps merge. A merge that is no map stays as it is. */
export function mergeKeys(whole: unknown, mistakes: Mistake[]): unknown {
  const done = new Map<unknown, unknown>();
  let merged = 0;
  const read = (value: unknown): unknown => {
    if (!Array.isArray(value) && !isMap(value)) return value;
    const known = done.get(value);
    if (known) return known;
    const copy: object = Array.isArray(value) ? [] : {};
    done.set(value, copy);
    const sources = sourcesOf(value);
    for (const [key, each] of Object.entries(value))
      if (key !== '<<' || sources.length === 0) define(copy, key, read(each));
    // The first source that has a field wins, and the map's own field wins over all.
    for (const [key, each] of sources.flatMap((source) => Object.entries(read(source) as object))) {
      if (merged++ > MOST_FIELDS) break;
      if (!Object.hasOwn(copy, key)) define(copy, key, each);
    }
    return copy;
  };
  const value = read(whole);
  if (merged > MOST_FIELDS)
    mistakes.push({ path: '', message: `merges (<<) bring more than ${MOST_FIELDS} fields` });
  return value;
}

function sourcesOf(value: object): object[] {
  const merge: unknown = isMap(value) && Object.hasOwn(value, '<<') ? value['<<'] : [];
  const sources = Array.isArray(merge) ? merge : [merge];
  return sources.every(isMap) ? sources : [];
}

/** A key may be __proto__, which cannot be assigned to. */
function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, configurable: true, enumerable: true, writable: true });
}
