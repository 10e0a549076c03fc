/**
 * The contract is written in structs of superstruct that also know their JSON Schema. One definition gives the type (`Infer`),
 * the checks with their messages, the OpenAPI document and the rules of forms.
 *
 * A failure says what was expected and never what was found, because that may be a secret in the wrong place. A failure
 * with a `refinement` is a whole predicate ("must be …"). One without is only what was expected: mistakes.ts adds whether the
 * value is missing or of another type.
 */
import * as s from 'superstruct';

export type JsonSchema = Readonly<Record<string, unknown>>;

export type Props = ConstructorParameters<typeof s.Struct<unknown, unknown>>[0];

interface Absence {
  /** The field may be left out. */
  isOptional?: boolean;
  /** Null is a value of its own. Otherwise null in an optional field is the same as no field. */
  takesNull?: boolean;
}

export class Shape<out T = unknown> extends s.Struct<unknown, unknown> {
  declare readonly TYPE: T;
  readonly isOptional: boolean;
  readonly takesNull: boolean;
  /** How the OpenAPI document calls it. */
  component: { name: string; json: JsonSchema } | undefined;

  constructor(
    props: Props,
    public json: JsonSchema,
    { isOptional = false, takesNull = false }: Absence = {},
  ) {
    super(props);
    this.isOptional = isOptional;
    this.takesNull = takesNull;
  }

  /** The same value, of which the OpenAPI document says more. */
  about(words: string | JsonSchema): Shape<T> {
    const more = typeof words === 'string' ? { description: words } : words;
    return new Shape<T>(this, { ...this.json, ...more }, this);
  }
}

/** Wherever the struct is used, the OpenAPI document refers to it by this name. */
export function named<S extends Shape>(name: string, shape: S): S {
  shape.component = { name, json: shape.json };
  shape.json = { $ref: `#/components/schemas/${name}` };
  return shape;
}

/** Something that is wrong with a value, as a whole predicate. */
export interface Finding {
  /** The field that is at fault. Absent: the value itself. */
  at?: string;
  message: string;
  /** What was perhaps meant by `word`, or by the value. */
  candidates?: readonly string[] | undefined;
  word?: string;
}

export function toFailure({ at, ...finding }: Finding, { path }: s.Context): Partial<s.Failure> {
  return { ...finding, refinement: 'finding', path: at === undefined ? path : [...path, at] };
}

/** Fails with everything that is found. */
export function findings(check: (value: unknown, context: s.Context) => Iterable<Finding>): Shape {
  const validator: s.Validator = (value, context) =>
    Array.from(check(value, context), (each) => toFailure(each, context));
  return new Shape({ type: 'findings', schema: null, validator }, {});
}

/** Adds a condition, which is asked for values that are right otherwise. */
export function refined<T>(
  shape: Shape<T>,
  isRight: (value: T) => boolean,
  mistake: string | ((value: T) => string),
): Shape<T> {
  const refiner: s.Refiner<unknown> = (value, context) =>
    isRight(value as T) ||
    toFailure({ message: typeof mistake === 'string' ? mistake : mistake(value as T) }, context);
  return new Shape<T>({ ...shape, refiner }, shape.json, shape);
}

/** The field may be left out. */
export function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  const isAbsent = (value: unknown) => value === undefined || (value === null && !shape.takesNull);
  return new Shape<T | undefined>(
    {
      ...shape,
      coercer: (value, context) => (isAbsent(value) ? undefined : shape.coercer(value, context)),
      validator: (value, context) => value === undefined || shape.validator(value, context),
      refiner: (value, context) => value === undefined || shape.refiner(value, context),
    },
    shape.json,
    { isOptional: true, takesNull: shape.takesNull },
  );
}

/** The field may be left out, which is the same as this value. */
export function withDefault<T>(shape: Shape<T>, value: unknown): Shape<T> {
  const coercer: s.Coercer = (given, context) => shape.coercer(given ?? value, context);
  return new Shape<T>({ ...shape, coercer }, shape.json, { isOptional: true });
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return new Shape<T | null>(
    {
      ...shape,
      coercer: (value, context) => (value === null ? null : shape.coercer(value, context)),
      validator: (value, context) => value === null || shape.validator(value, context),
      refiner: (value, context) => value === null || shape.refiner(value, context),
    },
    jsonOrNull(shape.json),
    { isOptional: shape.isOptional, takesNull: true },
  );
}

const PLAIN_TYPES: readonly unknown[] = ['string', 'integer', 'number'];

function jsonOrNull(json: JsonSchema): JsonSchema {
  const isPlain = PLAIN_TYPES.includes(json.type) && !('enum' in json) && !('pattern' in json);
  return isPlain ? { ...json, type: [json.type, 'null'] } : { anyOf: [json, { type: 'null' }] };
}

/** One struct or another, by the value and by the values around it. `json` describes all of them. */
export function chosen<T>(
  json: JsonSchema,
  choose: (value: unknown, context: s.Context) => Shape<T>,
): Shape<T> {
  return new Shape<T>(s.dynamic(choose) as s.Struct<unknown, unknown>, json);
}
