import { closest, type Mistake } from '../contract/mistakes.js';
import type { Env } from './env-lookup.js';
import { hasReference, interpolate, secretVariable } from './interpolate.js';

export type Fields = Readonly<Record<string, unknown>>;

export interface TextRule {
  pattern: RegExp;
  /** Completes "must be …". */
  allowed: string;
}

export interface NumberRule {
  min: number;
  max: number;
  whole?: boolean;
}

/**
 * Reads typed values from a parsed file or a request's body. It collects all mistakes instead of stopping at the first.
 * After a mistake a read returns a stand-in ('', 0, an empty list). A caller must discard the result when `mistakes` is
 * not empty.
 */
export class ConfigReader {
  constructor(
    readonly mistakes: Mistake[],
    /** Undefined: the value comes from a caller, and `${NAME}` in it is plain text. */
    private readonly env: Env | undefined,
  ) {}

  mistake(path: string, message: string): void {
    this.mistakes.push({ path, message });
  }

  /** A map with keys that the operator chose (providers, routes). */
  entries(value: unknown, path: string, min = 0): [key: string, value: unknown][] {
    if (min === 0 && isAbsent(value)) return [];
    const entries = isMap(value) ? Object.entries(value) : undefined;
    if (entries === undefined) this.wrongType(path, 'a map', value);
    else if (entries.length < min)
      this.mistake(path, `must have at least ${min}; leave it out for the defaults`);
    return entries ?? [];
  }

  /** A map with fixed fields. Any other field is a mistake. Undefined when the value is not a map. */
  fields(value: unknown, path: string, allowed: readonly string[]): Fields | undefined {
    if (!isMap(value)) {
      this.wrongType(path, `a map with ${allowed.join(', ')}`, value);
      return undefined;
    }
    for (const key of Object.keys(value)) {
      if (allowed.includes(key)) continue;
      this.mistake(
        join(path, shownKey(key)),
        `unknown field; allowed: ${allowed.join(', ')}${didYouMean(key, allowed)}`,
      );
    }
    return value;
  }

  list(value: unknown, path: string, min = 0, max = Number.POSITIVE_INFINITY): unknown[] {
    if (min === 0 && isAbsent(value)) return [];
    const size = max === Number.POSITIVE_INFINITY ? 'a list' : `a list of ${min} to ${max} items`;
    if (!Array.isArray(value)) this.wrongType(path, size, value);
    else if (value.length < min || value.length > max) this.mistake(path, `must be ${size}`);
    else return Array.from(value);
    return [];
  }

  text(value: unknown, path: string, rule: TextRule): string {
    if (typeof value !== 'string') {
      this.wrongType(path, rule.allowed, value);
      return '';
    }
    const text = this.interpolated(value, path);
    if (text === undefined || rule.pattern.test(text)) return text ?? '';
    this.mistake(path, `must be ${rule.allowed}`);
    return '';
  }

  /** A number, or a reference to a variable that holds one. */
  number(value: unknown, path: string, { min, max, whole = true }: NumberRule): number {
    const allowed = `a ${whole ? 'whole number' : 'number'} from ${min} to ${max}`;
    let number = value;
    if (this.env && typeof value === 'string' && hasReference(value)) {
      const text = this.interpolated(value, path);
      if (text === undefined) return 0;
      number = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
    }
    if (typeof number !== 'number') this.wrongType(path, allowed, value);
    else if (!(number >= min && number <= max) || (whole && !Number.isInteger(number))) {
      this.mistake(path, `must be ${allowed}`);
    } else return number;
    return 0;
  }

  /** An absent flag is false. */
  flag(value: unknown, path: string): boolean {
    if (isAbsent(value) || typeof value === 'boolean') return value ?? false;
    this.wrongType(path, 'true or false', value);
    return false;
  }

  oneOf<const T extends string>(value: unknown, path: string, choices: readonly T[]): T | undefined {
    const allowed = `one of ${choices.join(', ')}`;
    if (typeof value !== 'string') {
      this.wrongType(path, allowed, value);
      return undefined;
    }
    const text = this.interpolated(value, path);
    if (text === undefined) return undefined;
    const chosen = choices.find((choice) => choice === text);
    if (chosen === undefined) this.mistake(path, `must be ${allowed}${didYouMean(text, choices)}`);
    return chosen;
  }

  /** An http(s) address without a trailing slash. */
  httpUrl(value: unknown, path: string): string {
    const allowed = 'an http or https address without user name, password, query and fragment';
    const text = this.text(value, path, { pattern: /^https?:\/\/\S+$/i, allowed });
    if (text === '') return '';
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url && url.username + url.password + url.search + url.hash === '') {
      return (url.origin + url.pathname).replace(/\/+$/, '');
    }
    this.mistake(path, `must be ${allowed}`);
    return '';
  }

  /** The name of the variable that holds a secret. The secret itself is never read here. */
  secret(value: unknown, path: string): string | undefined {
    if (isAbsent(value)) return undefined;
    const variable = typeof value === 'string' ? secretVariable(value) : undefined;
    if (variable === undefined) {
      this.mistake(
        path,
        'a secret must not stand in the file: write it as ${NAME} and set NAME in the environment',
      );
    }
    return variable;
  }

  /** `seen` remembers where each value of a kind was first read. */
  unique(seen: Map<string, string>, value: string, path: string): void {
    const first = seen.get(value);
    if (first === undefined) seen.set(value, path);
    else if (value !== '') this.mistake(path, `is a duplicate of ${first}`);
  }

  private interpolated(text: string, path: string): string | undefined {
    if (!this.env) return text;
    const before = this.mistakes.length;
    const result = interpolate(text, this.env, (message) => this.mistake(path, message));
    return this.mistakes.length === before ? result : undefined;
  }

  private wrongType(path: string, allowed: string, value: unknown): void {
    this.mistake(
      path,
      isAbsent(value) ? `is missing; must be ${allowed}` : `must be ${allowed}, not ${typeName(value)}`,
    );
  }
}

/** A field with nothing after the colon is null in YAML. It counts as left out. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** `a.b`, or `a["b c"]` where the key would not read as part of a path. */
export function join(path: string, key: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_-]*…?$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** The beginning of a key that reads like a word. In `{ value:sk-1 }`, without the space, the key contains a secret. */
export function shownKey(key: string): string {
  const name = /^[A-Za-z_-]{0,40}/.exec(key)?.[0] ?? '';
  return name === key ? key : `${name}…`;
}

function didYouMean(word: string, allowed: readonly string[]): string {
  const meant = closest(word, allowed);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

function isMap(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`;
}
