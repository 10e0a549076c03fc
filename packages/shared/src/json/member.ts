import { findExcess, MemberSearch } from './measure.js';

export interface CutMember {
  /** The text with `place` instead of the member's value. */
  outline: string;
  /** The text of the value. */
  member: string;
}

/**
 * Cuts the value of a key of the outermost object out of a JSON text, unread. Undefined when there is no such key, or when it may
 * be there twice, or when the text is nested deeper than `depth`. The outline is only JSON if the text is.
 */
export function cutMember(text: string, name: string, place: string, depth: number): CutMember | undefined {
  const search = new MemberSearch(name);
  const most = Number.POSITIVE_INFINITY;
  if (findExcess(text, { depth, keys: most, elements: most }, search) || !search.range) return undefined;
  const [start, end] = search.range;
  return { outline: text.slice(0, start) + place + text.slice(end), member: text.slice(start, end) };
}
