/**
 * superstruct's own messages print the value that was received, in full, and throw where it cannot be printed
 * (`{"toString": 1}`). A failure of these says what was expected, and nothing else.
 */
import * as s from 'superstruct';

export function kind<T>(expected: string, is: (value: unknown) => boolean): s.Struct<T, null> {
  return s.define<T>(expected, (value) => is(value) || expected);
}

export const string = kind<string>('a string', (value) => typeof value === 'string');
export const boolean = kind<boolean>('a boolean', (value) => typeof value === 'boolean');
export const number = kind<number>('a number', (value) => typeof value === 'number');
export const integer = kind<number>('an integer', Number.isInteger);

export function oneOf<T extends string>(values: readonly T[]): s.Struct<T, null> {
  const expected = values.length === 1 ? `"${values[0]}"` : `one of ${values.join(', ')}`;
  return kind<T>(expected, (value) => values.some((allowed) => allowed === value));
}

export function array<T, S>(item: s.Struct<T, S>): s.Struct<T[], s.Struct<T, S>> {
  return new s.Struct({ ...s.array(item), validator: (value) => Array.isArray(value) || 'an array' });
}

type Fields = Parameters<typeof s.type>[0];

/** Unknown fields are allowed. */
export function object(fields: Fields): s.Struct<object, Fields> {
  return new s.Struct({ ...s.type(fields), validator: (value) => isObject(value) || 'an object' });
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
