/**
 * The structs of a chat request, which every caller waits for. superstruct takes microseconds for each value that it visits.
 * So each of these structs also knows `test`, which only says whether a value passes. Then superstruct visits only the value
 * that fails. Unknown fields are allowed, and null stands for absent, as in the common format.
 */
import * as s from 'superstruct';
import { type JsonSchema, type Props, Shape } from './shape.js';

type Test = (value: unknown) => boolean;

export class Quick<out T = unknown> extends Shape<T> {
  constructor(
    props: Props,
    json: JsonSchema,
    readonly test: Test,
  ) {
    super(props, json);
  }

  /** One of several structs, which the value itself chooses. */
  static chosen<T>(choose: (value: unknown) => Quick<T>, all: readonly Quick<T>[]): Quick<T> {
    return new Quick<T>(
      s.dynamic(choose) as s.Struct<unknown, unknown>,
      { anyOf: all.map(({ json }) => json) },
      (value) => choose(value).test(value),
    );
  }
}

export function kind<T>(expected: string, test: Test, json: JsonSchema): Quick<T> {
  return new Quick<T>(
    { type: 'kind', schema: null, validator: (value) => test(value) || expected },
    json,
    test,
  );
}

export const string = kind<string>('a string', (value) => typeof value === 'string', { type: 'string' });
export const boolean = kind<boolean>('a boolean', (value) => typeof value === 'boolean', { type: 'boolean' });
export const number = kind<number>('a number', Number.isFinite, { type: 'number' });
export const integer = kind<number>('an integer', Number.isInteger, { type: 'integer' });

export function oneOf<const T extends string>(...values: T[]): Quick<T> {
  const expected = values.length === 1 ? `"${values[0]}"` : `one of ${values.join(', ')}`;
  const allowed: ReadonlySet<unknown> = new Set(values);
  return kind<T>(expected, (value) => allowed.has(value), { type: 'string', enum: values });
}

/** Adds a condition to a struct. `message` completes the message of a failure. */
export function refine<T>(
  shape: Quick<T>,
  message: string,
  isRight: (value: T) => boolean,
  json: JsonSchema,
): Quick<T> {
  const refined = s.refine(
    shape as s.Struct<unknown, unknown>,
    'condition',
    (value) => isRight(value as T) || message,
  );
  return new Quick<T>(
    refined,
    { ...shape.json, ...json },
    (value) => shape.test(value) && isRight(value as T),
  );
}

export function nonempty<T extends { length: number }>(shape: Quick<T>): Quick<T> {
  return refine(shape, 'must not be empty', ({ length }) => length > 0, { minItems: 1 });
}

function maybe<T>(shape: Quick<T>): Quick<T | null | undefined> {
  const test = (value: unknown) => value === undefined || value === null || shape.test(value);
  const struct = s.optional(s.nullable(shape as s.Struct<unknown, unknown>));
  return new Quick<T | null | undefined>(struct, orNull(shape.json), test);
}

function orNull(json: JsonSchema): JsonSchema {
  if (typeof json.type !== 'string') return { anyOf: [json, { type: 'null' }] };
  const withNull = Array.isArray(json.enum) ? { enum: [...json.enum, null] } : {};
  return { ...json, type: [json.type, 'null'], ...withNull };
}

export function array<T>(item: Quick<T>): Quick<T[]> {
  return new Quick<T[]>(
    {
      type: 'array',
      schema: item,
      validator: (value) => Array.isArray(value) || 'an array',
      *entries(value) {
        const failing = Array.isArray(value) ? value.findIndex((element) => !item.test(element)) : -1;
        if (failing >= 0) yield [failing, (value as unknown[])[failing], item];
      },
    },
    { type: 'array', items: item.json },
    (value) => Array.isArray(value) && value.every(item.test),
  );
}

type Schema = Readonly<Record<string, Quick>>;
type Known<F extends Schema, O extends Schema> = { -readonly [K in keyof F]: s.Infer<F[K]> } & {
  -readonly [K in keyof O]?: s.Infer<O[K]> | null;
};
export type Open<F extends Schema, O extends Schema> = { [K in keyof Known<F, O>]: Known<F, O>[K] } & {
  [field: string]: unknown;
};

/** Those in `optional` may be absent or null. */
export function object<const F extends Schema, const O extends Schema = Record<never, never>>(
  fields: F,
  optional?: O,
): Quick<Open<F, O>> {
  const maybes = Object.entries(optional ?? {}).map(([name, shape]) => [name, maybe(shape)] as const);
  const all: (readonly [string, Quick])[] = [...Object.entries(fields), ...maybes];
  const required = Object.keys(fields);
  const test = (value: unknown) => {
    if (!isObject(value)) return false;
    for (const [field, shape] of all) if (!shape.test(value[field])) return false;
    return true;
  };
  return new Quick<Open<F, O>>(
    {
      type: 'object',
      schema: fields,
      validator: (value) => isObject(value) || 'an object',
      *entries(value) {
        if (!isObject(value)) return;
        for (const [field, shape] of all) if (!shape.test(value[field])) yield [field, value[field], shape];
      },
    },
    {
      type: 'object',
      ...(all.length > 0
        ? { properties: Object.fromEntries(all.map(([name, { json }]) => [name, json])) }
        : {}),
      ...(required.length > 0 ? { required } : {}),
    },
    test,
  );
}

/** One struct for each value that a field may have, and one for all others, so that an error names the field at fault. */
export function byField<const S extends Schema, T>(
  field: string,
  shapes: S,
  other: Quick<T>,
): Quick<s.Infer<S[keyof S]> | T> {
  const known = new Map<unknown, Quick>(Object.entries(shapes));
  const choose = (value: unknown): Quick => known.get(isObject(value) ? value[field] : undefined) ?? other;
  const rest = { type: 'object', properties: { [field]: { not: { enum: Object.keys(shapes) } } } };
  return new Quick<s.Infer<S[keyof S]> | T>(
    s.dynamic(choose) as s.Struct<unknown, unknown>,
    { anyOf: [...Object.values(shapes).map(({ json }) => json), { allOf: [other.json, rest] }] },
    (value) => choose(value).test(value),
  );
}

/** An array goes by one struct, everything else by the other. */
export function arrayOr<A, T>(arrays: Quick<A>, others: Quick<T>): Quick<A | T> {
  const choose = (value: unknown): Quick => (Array.isArray(value) ? arrays : others);
  return new Quick<A | T>(
    s.dynamic(choose) as s.Struct<unknown, unknown>,
    { anyOf: [others.json, arrays.json] },
    (value) => choose(value).test(value),
  );
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
