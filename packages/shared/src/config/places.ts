/** Finds the line of gateway.yaml that a path such as `workspaces[0].routes.fast[1].provider` is on. */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type LineCounter,
  type Pair,
  type YAMLMap,
} from 'yaml';
import { shownKey } from '../contract/path-text.js';

export type LineOf = (path: string) => number | undefined;

const SEGMENT = /\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([A-Za-z_][A-Za-z0-9_-]*…?)/g;

/** A path that leads nowhere, such as that of a missing field, gets the line of the map that lacks the field. */
export function createLineOf(doc: Document, lineCounter: LineCounter): LineOf {
  const indexes = new WeakMap<YAMLMap, Map<string, Pair>>();
  const pairIn = (map: YAMLMap, name: string): Pair | undefined => {
    const index = indexes.get(map) ?? indexOf(map);
    indexes.set(map, index);
    return index.get(name);
  };
  return (path) => {
    let node: unknown = doc.contents;
    let offset = startOf(node);
    for (const [, index, quoted, word] of path.matchAll(SEGMENT)) {
      if (isAlias(node)) node = node.resolve(doc);
      if (isSeq(node)) node = node.items[Number(index)];
      else if (isMap(node)) {
        const name = word ?? (quoted === undefined ? '' : JSON.parse(`"${quoted}"`));
        const pair = pairIn(node, name);
        if (!pair) break;
        offset = startOf(pair.key) ?? offset;
        node = pair.value;
        continue;
      } else break;
      offset = startOf(node) ?? offset;
    }
    return offset === undefined ? undefined : lineCounter.linePos(offset).line;
  };
}

/** The pairs of a map by their keys, and by the beginnings of these that paths show. */
function indexOf({ items }: YAMLMap): Map<string, Pair> {
  const index = new Map<string, Pair>();
  for (const pair of items) {
    const key = isScalar(pair.key) ? String(pair.key.value) : '';
    for (const name of [key, shownKey(key)]) if (!index.has(name)) index.set(name, pair);
  }
  return index;
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}
