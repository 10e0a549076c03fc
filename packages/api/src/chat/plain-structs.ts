/**
 * superstruct's own messages print the whole value that was received, and throw when it cannot be printed
 * (`{"toString": 1}`). The messages of these structs only say what was expected.
 *
 * superstruct also takes microseconds for each value that it visits. So each struct knows two more things, both made from
 * the same definition: `test`, which only says whether a value passes, and `jsonSchema`, which says the same in JSON Schema.
 * So superstruct only visits the value that fails, and the OpenAPI document always agrees with the checks.
 */
import * as s from 'superstruct';

export type Schema = Readonly<Record<string, unknown>>;

interface Rule {
  test(value: unknown): boolean;
  jsonSchema: Schema;
}

export class Checked extends s.Struct<unknown, unknown> implements Rule {
  readonly test: Rule['test'];
  readonly jsonSchema: Schema;

  constructor(struct: ConstructorParameters<typeof s.Struct<unknown, unknown>>[0], rule: Rule) {
    super(struct);
    this.test = rule.test;
    this.jsonSchema = rule.jsonSchema;
  }
}

export function kind(expected: string, test: Rule['test'], jsonSchema: Schema): Checked {
  return new Checked(
    { type: 'kind', schema: null, validator: (value) => test(value) || expected },
    { test, jsonSchema },
  );
}

export const string = kind('a string', (value) => typeof value === 'string', { type: 'string' });
export const boolean = kind('a boolean', (value) => typeof value === 'boolean', { type: 'boolean' });
export const number = kind('a number', Number.isFinite, { type: 'number' });
export const integer = kind('an integer', Number.isInteger, { type: 'integer' });

export function oneOf(...values: string[]): Checked {
  const expected = values.length === 1 ? `"${values[0]}"` : `one of ${values.join(', ')}`;
  const allowed: ReadonlySet<unknown> = new Set(values);
  return kind(expected, (value) => allowed.has(value), { type: 'string', enum: values });
}

/** Adds a condition to a struct. `expected` completes the message of a failure. */
export function refine(struct: Checked, expected: string, rule: Rule): Checked {
  const refined = s.refine(struct, 'condition', (value) => rule.test(value) || expected);
  return new Checked(refined as s.Struct<unknown, unknown>, {
    test: (value) => struct.test(value) && rule.test(value),
    jsonSchema: { ...struct.jsonSchema, ...rule.jsonSchema },
  });
}

export function nonempty(struct: Checked): Checked {
  return refine(struct, 'must not be empty', {
    test: (value) => (value as unknown[]).length > 0,
    jsonSchema: { minItems: 1 },
  });
}

/** The value may be absent or null. */
export function maybe(struct: Checked): Checked {
  const test = (value: unknown) => value === undefined || value === null || struct.test(value);
  const rule = { test, jsonSchema: orNull(struct.jsonSchema) };
  return new Checked(s.optional(s.nullable(struct)) as s.Struct<unknown, unknown>, rule);
}

function orNull(schema: Schema): Schema {
  if (typeof schema.type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  const { enum: values } = schema;
  const withNull = Array.isArray(values) ? { enum: [...values, null] } : {};
  return { ...schema, type: [schema.type, 'null'], ...withNull };
}

export function array(item: Checked): Checked {
  return new Checked(
    {
      type: 'array',
      schema: item,
      validator: (value) => Array.isArray(value) || 'an array',
      *entries(value) {
        const failing = Array.isArray(value) ? value.findIndex((element) => !item.test(element)) : -1;
        if (failing >= 0) yield [failing, (value as unknown[])[failing], item];
      },
    },
    {
      test: (value) => Array.isArray(value) && value.every(item.test),
      jsonSchema: { type: 'array', items: item.jsonSchema },
    },
  );
}

/** Unknown fields are allowed. Those in `optional` may be absent or null. */
export function object(fields: Record<string, Checked>, optional: Record<string, Checked> = {}): Checked {
  const structs = { ...fields, ...mapValues(optional, maybe) };
  const all = Object.entries(structs);
  const required = Object.keys(fields);
  const jsonSchema = {
    type: 'object',
    ...(all.length > 0 ? { properties: mapValues(structs, (struct) => struct.jsonSchema) } : {}),
    ...(required.length > 0 ? { required } : {}),
  };
  const test = (value: unknown) => {
    if (!isObject(value)) return false;
    for (const [field, struct] of all) if (!struct.test(value[field])) return false;
    return true;
  };
  return new Checked(
    {
      type: 'object',
      schema: fields,
      validator: (value) => isObject(value) || 'an object',
      *entries(value) {
        if (!isObject(value)) return;
        for (const [field, struct] of all) {
          if (!struct.test(value[field])) yield [field, value[field], struct];
        }
      },
    },
    { test, jsonSchema },
  );
}

/** One struct for each value that a field may have, and one for all others, so that an error names the field at fault. */
export function byField(field: string, structs: Record<string, Checked>, other: Checked): Checked {
  const known = new Map<unknown, Checked>(Object.entries(structs));
  const choose = (value: unknown) => known.get(isObject(value) ? value[field] : undefined) ?? other;
  const rest = { type: 'object', properties: { [field]: { not: { enum: Object.keys(structs) } } } };
  return new Checked(s.dynamic(choose) as s.Struct<unknown, unknown>, {
    test: (value) => choose(value).test(value),
    jsonSchema: {
      anyOf: [
        ...Object.values(structs).map(({ jsonSchema }) => jsonSchema),
        { allOf: [other.jsonSchema, rest] },
      ],
    },
  });
}

/** An array goes by one struct, everything else by the other. */
export function arrayOr(arrays: Checked, others: Checked): Checked {
  const choose = (value: unknown) => (Array.isArray(value) ? arrays : others);
  return new Checked(s.dynamic(choose) as s.Struct<unknown, unknown>, {
    test: (value) => choose(value).test(value),
    jsonSchema: { anyOf: [others.jsonSchema, arrays.jsonSchema] },
  });
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapValues<T, R>(record: Record<string, T>, map: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
