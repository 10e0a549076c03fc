/**
 * Measures the structure of a JSON text before it is parsed. A few bytes of text can become a value that takes a hundred
 * times as long to build, to check and to serialise.
 */
import { endOfString } from './end-of-string.js';

export interface JsonLimits {
  /** Levels of nested arrays and objects. */
  depth: number;
  /** Keys of all objects together. */
  keys: number;
  /** Elements of all arrays together. */
  elements: number;
}

export interface Excess {
  limit: keyof JsonLimits;
  /** Where in the text the limit was passed. */
  offset: number;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const SPACE = 32;

/** Where a piece of a text begins and ends. */
export type TextRange = readonly [start: number, end: number];

/** Finds where the value of one key of the outermost object begins and ends, while the text is measured. */
export class MemberSearch {
  #start = -1;
  #end = -1;
  #isUnsure = false;
  /** How many keys are written in the value, at all levels. */
  #keys = 0;

  constructor(private readonly name: string) {}

  /** Undefined when there is no such key, or when it or a key in its value may be there twice. */
  get range(): TextRange | undefined {
    return this.#isUnsure || this.#end < 0 ? undefined : [this.#start, this.#end];
  }

  /** `key` is as it is written, without its quotes. An escaped key may be the same name. `keys`: how many came before `at`. */
  begin(key: string, at: number, keys: number): void {
    if (key.includes('\\')) this.#isUnsure = true;
    else if (key === this.name) {
      if (this.#start >= 0) this.#isUnsure = true;
      this.#start = at;
      this.#keys = -keys;
    }
  }

  end(at: number, keys: number): void {
    if (this.#start < 0 || this.#end >= 0) return;
    this.#end = at;
    this.#keys += keys;
  }

  /**
   * `value`: what the parser made of the text. It has fewer keys than the text when an object has a key twice. Not every parser
   * takes the last of them, so others may read something else in this text than what was checked here.
   */
  compare(value: unknown): void {
    if (countKeys(value) !== this.#keys) this.#isUnsure = true;
  }
}

function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const values: unknown[] = Array.isArray(value) ? value : Object.values(value);
  let count = Array.isArray(value) ? 0 : values.length;
  for (const each of values) count += countKeys(each);
  return count;
}

/**
 * The first limit that the text exceeds. Invalid JSON is not noticed here, since the parser will refuse it. `search` has
 * found its key when no limit is exceeded and the parser accepts the text.
 */
export function findExcess(
  text: string,
  { depth, keys, elements }: JsonLimits,
  search?: MemberSearch,
): Excess | undefined {
  const inArray: boolean[] = [false];
  let level = 0;
  let keyCount = 0;
  let elementCount = 0;
  let previous = 0;
  let [keyStart, keyEnd] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code <= SPACE) continue;
    if (previous === OPEN_ARRAY && code !== CLOSE_ARRAY && ++elementCount > elements)
      return { limit: 'elements', offset: at };
    previous = code;
    switch (code) {
      case QUOTE:
        keyStart = at + 1;
        at = endOfString(text, at);
        keyEnd = at;
        break;
      case COLON:
        if (++keyCount > keys) return { limit: 'keys', offset: at };
        if (level === 1) search?.begin(text.slice(keyStart, keyEnd), at + 1, keyCount);
        break;
      case COMMA:
        if (level === 1) search?.end(at, keyCount);
        if (inArray[level] === true && ++elementCount > elements) return { limit: 'elements', offset: at };
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++level > depth) return { limit: 'depth', offset: at };
        inArray[level] = code === OPEN_ARRAY;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (level === 1) search?.end(at, keyCount);
        if (--level < 0) return undefined;
        break;
    }
  }
  return undefined;
}
