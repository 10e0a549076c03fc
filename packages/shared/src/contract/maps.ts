/** Maps and lists. */
import type { Context, Infer } from 'superstruct';
import { pathText, shownKey } from './path-text.js';
import { type Finding, findings, named, optional, Shape, toFailure } from './shape.js';

export type Schema = Readonly<Record<string, Shape>>;

type OptionalKeys<S extends Schema> = {
  [K in keyof S]: undefined extends Infer<S[K]> ? (unknown extends Infer<S[K]> ? never : K) : never;
}[keyof S];

export type FieldsOf<S extends Schema> = {
  [K in Exclude<keyof S, OptionalKeys<S>>]: Infer<S[K]>;
} & { [K in OptionalKeys<S>]?: Infer<S[K]> } extends infer T
  ? { [K in keyof T]: T[K] }
  : never;

export type Unread = Readonly<Record<string, unknown>>;

interface FieldsOptions {
  /** Finds what is wrong with several fields together. Fields may be wrong by themselves, too. */
  check?: (value: Unread) => Iterable<Finding>;
  /** A field that may stand in the place of these, for the messages. */
  instead?: string;
}

/** A caller may send very many fields, and each takes some microseconds to be named. */
const MOST_UNKNOWN = 100;

/** A map with fixed fields. Any other field is a mistake. */
export class Fields<S extends Schema> extends Shape<FieldsOf<S>> {
  declare readonly schema: S;

  constructor(schema: S, { check, instead }: FieldsOptions = {}) {
    const allowed = [...Object.keys(schema), ...(instead === undefined ? [] : [instead])];
    const checked = check && findings((value) => check(value as Unread));
    super(
      {
        type: 'fields',
        schema,
        coercer: (value) => (isMap(value) ? inOrder(value, schema) : value),
        validator: (value) => isMap(value) || `a map with ${allowed.join(', ')}`,
        *entries(value) {
          if (!isMap(value)) return;
          const unknown = Object.keys(value).filter((key) => !allowed.includes(key));
          for (const key of unknown.slice(0, MOST_UNKNOWN))
            yield [shownKey(key), value[key], unknownField(key, allowed)];
          for (const [name, shape] of Object.entries(schema)) yield [name, value[name], shape];
          if (checked) yield [HERE, value, checked];
        },
      },
      {
        type: 'object',
        properties: mapValues(schema, ({ json }) => json),
        required: Object.keys(schema).filter((name) => !schema[name]?.isOptional),
        additionalProperties: false,
      },
    );
  }
}

/** The fields of the schema in its order, without those that are left out, and then all others. */
function inOrder(value: Record<string, unknown>, schema: Schema): Record<string, unknown> {
  const isLeftOut = (name: string) =>
    value[name] === null && schema[name]?.isOptional && !schema[name].takesNull;
  const known = Object.keys(schema).filter((name) => Object.hasOwn(value, name) && !isLeftOut(name));
  const others = Object.entries(value).filter(([name]) => !Object.hasOwn(schema, name));
  return Object.fromEntries([...known.map((name) => [name, value[name]]), ...others]);
}

/** As the name of an entry: the value itself is checked once more, and superstruct adds nothing to the path. */
const HERE = undefined as unknown as string;

/** The same fields, each of which may be left out. */
export function partial<S extends Schema>(schema: S): { [K in keyof S]: Shape<Infer<S[K]> | undefined> } {
  return mapValues(schema, optional) as { [K in keyof S]: Shape<Infer<S[K]> | undefined> };
}

export function fields<const S extends Schema>(schema: S, options?: FieldsOptions): Fields<S> {
  return new Fields(schema, options);
}

/** Fields that the OpenAPI document refers to by a name. */
export function component<const S extends Schema>(
  name: string,
  schema: S,
  options?: FieldsOptions,
): Fields<S> {
  return named(name, new Fields(schema, options));
}

function unknownField(word: string, candidates: readonly string[]): Shape {
  const allowed = candidates.length === 0 ? 'none is allowed here' : `allowed: ${candidates.join(', ')}`;
  return findings(() => [{ message: `unknown field; ${allowed}`, candidates, word }]);
}

interface ListOptions {
  min?: number;
  max?: number;
  /** No two items have the same value in this field. */
  unique?: string;
  /** Finds what is wrong with several items together. */
  check?: (items: readonly unknown[]) => Iterable<Finding>;
}

export function list<T>(item: Shape<T>, { min = 0, max, unique, check }: ListOptions = {}): Shape<T[]> {
  const expected = max === undefined ? 'a list' : `a list of ${min} to ${max} items`;
  const isFitting = (value: unknown): value is unknown[] =>
    Array.isArray(value) && value.length >= min && value.length <= (max ?? value.length);
  const checked = check && findings((value) => check(value as unknown[]));
  return new Shape<T[]>(
    {
      type: 'list',
      schema: item,
      coercer: (value) => (Array.isArray(value) ? Array.from<unknown>(value) : value),
      validator: (value, context) =>
        !Array.isArray(value)
          ? expected
          : isFitting(value) || toFailure({ message: `must be ${expected}` }, context),
      *entries(value) {
        if (!isFitting(value)) return;
        const seen = new Map<unknown, number>();
        for (const [i, each] of value.entries()) {
          yield [i, each, item];
          if (unique !== undefined) yield [i, value[i], duplicate(seen, i, unique, item)];
        }
        if (checked) yield [HERE, value, checked];
      },
    },
    {
      type: 'array',
      items: item.json,
      ...(min === 0 ? {} : { minItems: min }),
      ...(max === undefined ? {} : { maxItems: max }),
    },
  );
}

/** `seen` has the place where each value of the field was first. */
function duplicate(seen: Map<unknown, number>, i: number, field: string, item: Shape): Shape {
  const fieldShape = item instanceof Fields ? (item.schema[field] as Shape) : undefined;
  return findings(function* (value, { path }) {
    const name = isMap(value) ? value[field] : undefined;
    if (!fieldShape?.is(name)) return;
    const first = seen.get(name);
    if (first === undefined) seen.set(name, i);
    else yield { at: field, message: `is a duplicate of ${pathText([...path.slice(0, -1), first, field])}` };
  });
}

interface RecordOptions {
  /** What is wrong with a name that the operator chose. */
  nameMistake?: (name: string) => string | undefined;
  /** Names are never shown whole, because a secret may be a part of one. */
  isShy?: boolean;
  /** Completes the mistake of a map with fewer entries. */
  atLeastOne?: string;
  max?: number;
  /** How the mistake of a map with more entries calls them. */
  called?: string;
  /** Finds what is wrong with several entries together. */
  check?: (value: Unread) => Iterable<Finding>;
}

/** A map with names that the operator chose. */
export function record<T>(
  item: Shape<T>,
  { nameMistake = () => undefined, isShy = false, atLeastOne, max, called, check }: RecordOptions = {},
): Shape<Record<string, T>> {
  const checked = check && findings((value) => check(value as Unread));
  return new Shape<Record<string, T>>(
    {
      type: 'record',
      schema: item,
      coercer: (value) => (isMap(value) ? { ...value } : value),
      validator(value, context) {
        if (!isMap(value)) return 'a map';
        const size = Object.keys(value).length;
        if (atLeastOne !== undefined && size === 0)
          return toFailure({ message: `must have at least 1; ${atLeastOne}` }, context);
        const most = called === undefined ? max : `${max} ${called}`;
        return (
          max === undefined || size <= max || toFailure({ message: `must have at most ${most}` }, context)
        );
      },
      *entries(value) {
        const pairs = isMap(value) ? Object.entries(value) : [];
        if (pairs.length > (max ?? pairs.length)) return;
        for (const [name, each] of pairs) {
          const message = nameMistake(name);
          const shown = message === undefined ? name : shownKey(name);
          if (message !== undefined) yield [shown, each, findings(() => [{ message }])];
          yield [shown, each, isShy ? shownAs(shownKey(name), item) : item];
        }
        if (checked && isMap(value)) yield [HERE, value, checked];
      },
    },
    {
      type: 'object',
      additionalProperties: item.json,
      ...(atLeastOne === undefined ? {} : { minProperties: 1 }),
      ...(max === undefined ? {} : { maxProperties: max }),
    },
  );
}

/** The same for a value without parts, under another name in its mistakes. */
function shownAs(name: string, shape: Shape): Shape {
  const renamed = (context: Context) => ({ ...context, path: [...context.path.slice(0, -1), name] });
  return new Shape(
    { ...shape, validator: (value, context) => shape.validator(value, renamed(context)) },
    shape.json,
  );
}

export function isMap(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

export function mapValues<T, R>(
  map: Readonly<Record<string, T>>,
  toResult: (value: T) => R,
): Record<string, R> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, toResult(value)]));
}
