import { type Env, lookupEnv } from '../config/env-lookup.js';
import { type Mistake, MistakesError } from '../contract/mistakes.js';
import type { SecretKeys } from './secret-keys.js';

export class EnvError extends MistakesError {
  override readonly name = 'EnvError';
}

/** One environment variable: what it may hold, and what it is for. Made by `port`, `text`, `url` and so on. */
export interface EnvField<T> {
  /** Completes "must be …". */
  allowed: string;
  description: string;
  required: boolean;
  default: T;
  /** Undefined when the text is not allowed. */
  parse(text: string): T | undefined;
}

export type EnvSpec = Readonly<Record<string, EnvField<unknown>>>;
export type EnvValues<S extends EnvSpec> = { [K in keyof S]: S[K] extends EnvField<infer T> ? T : never };

/** A field with a default or `required: true` always has a value; any other may be undefined. */
export interface FieldOptions<T> {
  description: string;
  default?: T;
  required?: boolean;
}
type Read<T, O> = O extends { default: T } | { required: true } ? T : T | undefined;

/** The values of all fields, by variable name. NAME_FILE may replace NAME. Throws EnvError. */
export function readEnv<S extends EnvSpec>(env: Env, spec: S): EnvValues<S> {
  const mistakes: Mistake[] = [];
  const values = Object.entries(spec).map(([name, field]) => {
    const { value: text, mistake } = lookupEnv(env, name);
    const value = text === undefined ? field.default : field.parse(text);
    if (mistake !== undefined) mistakes.push({ path: name, message: mistake });
    else if (text !== undefined && value === undefined) {
      mistakes.push({ path: name, message: `must be ${field.allowed}` });
    } else if (value === undefined && field.required) {
      mistakes.push({ path: name, message: `is not set; must be ${field.allowed} (${field.description})` });
    }
    return [name, value];
  });
  if (mistakes.length > 0) throw new EnvError('environment', mistakes);
  return Object.fromEntries(values);
}

export interface EnvDoc {
  name: string;
  description: string;
  allowed: string;
  default: string | undefined;
  required: boolean;
}

/** The rows of a `--help` text or a table in the docs. */
export function describeEnv(spec: EnvSpec): EnvDoc[] {
  return Object.entries(spec).map(([name, { description, allowed, required, ...field }]) => ({
    name,
    description,
    allowed,
    default: field.default === undefined ? undefined : String(field.default),
    required,
  }));
}

export function text<const O extends FieldOptions<string>>(options: O): EnvField<Read<string, O>> {
  return field(options, 'a text', (text) => text);
}

/** It stands in braces in every Redis key, and in the patterns of Redis' users. */
export function cellName<const O extends FieldOptions<string>>(options: O): EnvField<Read<string, O>> {
  return field(options, 'at most 64 letters, digits, dots, dashes and underscores', (text) =>
    /^[\w.-]{1,64}$/.test(text) ? text : undefined,
  );
}

/** A text without a default that must never be logged. */
export function secret<const O extends FieldOptions<string> & { default?: never; minLength?: number }>(
  options: O,
): EnvField<Read<string, O>> {
  const { minLength = 1 } = options;
  return field(options, `a secret of at least ${minLength} characters`, (text) =>
    text.length >= minLength ? text : undefined,
  );
}

const SECRET_KEY_BYTES = 32;

/** Keys of 32 bytes each, in base64 or hex. `none` in the first place: the others are for reading only. */
export function secretKeys<const O extends FieldOptions<SecretKeys> & { default?: never }>(
  options: O,
): EnvField<Read<SecretKeys, O>> {
  const allowed = 'one or more keys of 32 bytes, in base64 or hex, separated by commas';
  return field(options, allowed, (text) => {
    const [first, ...others] = text.split(/[\s,]+/);
    const writes = first !== 'none';
    const keys = (writes ? [first ?? '', ...others] : others).map(parseSecretKey);
    if (keys.some((key) => key === undefined)) return undefined;
    return { writes, keys: keys.filter((key) => key !== undefined) };
  });
}

function parseSecretKey(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  const key = /^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : undefined;
  return key?.length === SECRET_KEY_BYTES ? key : undefined;
}

/** 0 lets the system choose a free port. */
export function port<const O extends FieldOptions<number>>(options: O): EnvField<Read<number, O>> {
  return field(options, ...wholeNumber(0, 65535));
}

export function integer<const O extends FieldOptions<number> & { min: number; max: number }>(
  options: O,
): EnvField<Read<number, O>> {
  return field(options, ...wholeNumber(options.min, options.max));
}

export function boolean<const O extends FieldOptions<boolean>>(options: O): EnvField<Read<boolean, O>> {
  const words: Record<string, boolean> = { true: true, '1': true, false: false, '0': false };
  return field(options, 'true, false, 1 or 0', (text) =>
    Object.hasOwn(words, text.toLowerCase()) ? words[text.toLowerCase()] : undefined,
  );
}

export function choice<const C extends string, const O extends FieldOptions<C>>(
  choices: readonly C[],
  options: O,
): EnvField<Read<C, O>> {
  return field(options, `one of ${choices.join(', ')}`, (text) => choices.find((choice) => choice === text));
}

/** `protocols` without the colon, such as `redis`. */
export function url<const O extends FieldOptions<string> & { protocols: readonly string[] }>(
  options: O,
): EnvField<Read<string, O>> {
  const { protocols } = options;
  return field(
    options,
    `an address that starts with ${protocols.map((name) => `${name}://`).join(' or ')}`,
    (text) =>
      protocols.some((name) => text.startsWith(`${name}://`)) && URL.canParse(withOneHost(text))
        ? text
        : undefined,
  );
}

/** Several hosts with commas are common in addresses of databases, and unknown to the standard of URLs. */
function withOneHost(text: string): string {
  return text.replace(/,[^/?#]*/, '');
}

function wholeNumber(
  min: number,
  max: number,
): [allowed: string, parse: (text: string) => number | undefined] {
  const parse = (text: string): number | undefined => {
    const number = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return number >= min && number <= max ? number : undefined;
  };
  return [`a whole number from ${min} to ${max}`, parse];
}

function field<T, const O extends FieldOptions<T>>(
  { description, required = false, ...options }: O,
  allowed: string,
  parse: (text: string) => T | undefined,
): EnvField<Read<T, O>> {
  // Read<T, O> includes undefined unless there is a default or the field is required, which readEnv enforces.
  const standard = options.default as Read<T, O>;
  return { allowed, description, required, default: standard, parse: parse as EnvField<Read<T, O>>['parse'] };
}
