/** Finds the line of gateway.yaml that a path such as `workspaces[0].routes.fast[1].provider` is on. */
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type LineCounter } from 'yaml';
import { shownKey } from '../contract/path-text.js';

export type LineOf = (path: string) => number | undefined;

const SEGMENT = /\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([A-Za-z_][A-Za-z0-9_-]*…?)/g;

/** A path that leads nowhere, such as that of a missing field, gets the line of the map that lacks the field. */
export function createLineOf(doc: Document, lineCounter: LineCounter): LineOf {
  return (path) => {
    let node: unknown = doc.contents;
    let offset = startOf(node);
    for (const [, index, quoted, word] of path.matchAll(SEGMENT)) {
      if (isAlias(node)) node = node.resolve(doc);
      if (isSeq(node)) node = node.items[Number(index)];
      else if (isMap(node)) {
        const name = word ?? (quoted === undefined ? '' : JSON.parse(`"${quoted}"`));
        const pair = node.items.find(({ key }) => fits(isScalar(key) ? String(key.value) : '', name));
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

function fits(key: string, name: string): boolean {
  return key === name || (name.endsWith('…') && shownKey(key) === name);
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}
