import { type Document, isScalar, LineCounter, parseDocument, stringify, visit } from 'yaml';
import type { Mistake } from '../contract/mistakes.js';
import { createLineOf, type LineOf } from './places.js';

// The parser's own messages for these quote the source, which may hold a secret.
const OWN_WORDS: Record<string, string> = {
  BAD_COLLECTION_TYPE: 'tags are not supported',
  BAD_DIRECTIVE: 'directives are not supported',
  BAD_DQ_ESCAPE: 'invalid escape in a double-quoted string',
  MULTIPLE_DOCS: 'the file must hold one YAML document',
  NON_STRING_KEY: 'a key must be a string',
  RESOURCE_EXHAUSTION: 'nested too deeply',
  TAG_RESOLVE_FAILED: 'tags are not supported',
  UNEXPECTED_TOKEN: 'unexpected text here; check the indentation, quotes and brackets around it',
};

const DUPLICATE = 'this key is already in the same map; keep one of the two';
const MAX_ALIASES = 100;

/** The parser notices a missing bracket only where the next line begins. */
function unclosedText(message: string): string | undefined {
  const [, close] = /end with a ([}\]])$/.exec(message) ?? [];
  if (close === undefined) return undefined;
  return `the ${close === '}' ? '{' : '['} before this place is not closed; add the missing ${close}`;
}

export interface ParsedYaml {
  value: unknown;
  lineOf: LineOf;
}

/** Pushes a mistake for everything that is not plain YAML. The result is undefined in that case. */
export function parseYaml(
  text: string,
  mistakes: Mistake[],
  maxAliases = MAX_ALIASES,
): ParsedYaml | undefined {
  const lineCounter = new LineCounter();
  try {
    // The parser compares each key with all keys before it.
    const options = { prettyErrors: false, stringKeys: true, uniqueKeys: false, resolveKnownTags: false };
    const doc = parseDocument(text, { lineCounter, ...options });
    const add = (offset: number, message: string) => {
      const { line, col } = lineCounter.linePos(offset);
      const path = `line ${line}:${col}`;
      // The parser reports an unclosed bracket once for each open level. The first report for a place is enough.
      if (mistakes.at(-1)?.path !== path) mistakes.push({ path, line, message });
    };
    for (const { code, message, pos } of [...doc.errors, ...doc.warnings])
      add(pos[0], OWN_WORDS[code] ?? unclosedText(message) ?? message);
    for (const offset of duplicateKeys(doc)) add(offset, DUPLICATE);
    if (mistakes.length > 0) return undefined;
    const value: unknown = doc.toJS({ maxAliasCount: maxAliases });
    return { value, lineOf: createLineOf(doc, lineCounter) };
  } catch (error) {
    // toJS throws for aliases. The parser throws when the stack is full.
    const message =
      error instanceof ReferenceError
        ? `an alias (*name) has no anchor before it, or aliases expand to more than ${maxAliases} nodes`
        : 'cannot be read as YAML; nested too deeply?';
    mistakes.push({ path: '', message });
    return undefined;
  }
}

/** Where each key is that its map has already. */
function duplicateKeys(doc: Document): number[] {
  const offsets: number[] = [];
  visit(doc, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) offsets.push(key.range?.[0] ?? 0);
        seen.add(key.value);
      }
    },
  });
  return offsets.sort((a, b) => a - b);
}

/** Long lines stay whole, and what is there twice is written twice. */
export function writeYaml(value: unknown): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
}
