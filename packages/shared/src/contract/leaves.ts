/** Texts, numbers and flags. */
import { Reference, Variable, variableIn } from './references.js';
import { type JsonSchema, type Props, Shape, toFailure } from './shape.js';

interface Leaf<T> {
  type: 'string' | 'number' | 'boolean';
  /** Completes "must be …". */
  expected: string;
  json: JsonSchema;
  fits?: (value: T) => boolean;
  /** What was perhaps meant by a value that does not fit. */
  candidates?: readonly string[];
  /** The value of a text with variables. Undefined: it cannot have variables. */
  fromText?: (text: string) => unknown;
  /** Brings a value that fits to one form. */
  tidy?: ((value: T) => T) | undefined;
}

function leaf<T>({ type, expected, json, fits, candidates, fromText, tidy }: Leaf<T>): Shape<T> {
  const isOfType = (value: unknown): value is T => typeof value === type;
  const props: Props = {
    type,
    schema: null,
    coercer(written) {
      const value = written instanceof Reference && fromText ? written.resolve(fromText) : written;
      return tidy && isOfType(value) && fits?.(value) ? tidy(value) : value;
    },
    validator(value, context) {
      if (value instanceof Reference && fromText)
        return value.mistakes.map((message) => toFailure({ message }, context));
      if (!isOfType(value)) return expected;
      return !fits || fits(value) || toFailure({ message: `must be ${expected}`, candidates }, context);
    },
  };
  return new Shape<T>(props, json);
}

const same = (text: string): string => text;

export interface TextRule {
  pattern: RegExp;
  /** Completes "must be …". */
  allowed: string;
}

/** A text that the gateway writes. `T` narrows its type. */
export function text<T extends string = string>(): Shape<T> {
  return leaf<T>({ type: 'string', expected: 'a text', json: { type: 'string' }, fromText: same });
}

export function textOf({ pattern, allowed }: TextRule, tidy?: (text: string) => string): Shape<string> {
  return leaf<string>({
    type: 'string',
    expected: allowed,
    // JSON Schema has no patterns that take small and capital letters for the same.
    json: { type: 'string', ...(pattern.ignoreCase ? {} : { pattern: pattern.source }) },
    fits: (value) => pattern.test(value),
    fromText: same,
    tidy,
  });
}

export function choice<const T extends string>(...values: readonly T[]): Shape<T> {
  return leaf<T>({
    type: 'string',
    expected: values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`,
    json: { type: 'string', enum: values },
    fits: (value) => values.includes(value),
    candidates: values,
    fromText: same,
  });
}

/** The values of a choice. */
export function choicesOf({ json }: Shape): readonly string[] | undefined {
  const [first = json] = (json.anyOf ?? []) as JsonSchema[];
  return first.enum as readonly string[] | undefined;
}

export interface NumberRule {
  min: number;
  max: number;
}

function numeric(type: 'integer' | 'number', { min, max }: Partial<NumberRule>): Shape<number> {
  const isWhole = type === 'integer';
  return leaf<number>({
    type: 'number',
    expected: `a ${isWhole ? 'whole number' : 'number'} from ${min} to ${max}`,
    json: {
      type,
      ...(min === undefined ? {} : { minimum: min }),
      ...(max === undefined ? {} : { maximum: max }),
    },
    fits: (value) =>
      value >= (min ?? value) && value <= (max ?? value) && (!isWhole || Number.isInteger(value)),
    fromText: (written) => (/^-?\d+(\.\d+)?$/.test(written) ? Number(written) : Number.NaN),
  });
}

export const whole = (rule: Partial<NumberRule> = { min: 0 }): Shape<number> => numeric('integer', rule);
export const number = (rule: Partial<NumberRule> = {}): Shape<number> => numeric('number', rule);

export const flag: Shape<boolean> = leaf<boolean>({
  type: 'boolean',
  expected: 'true or false',
  json: { type: 'boolean' },
});

export function literal<const T extends string | boolean>(value: T): Shape<T> {
  const validator = (found: unknown) => found === value || JSON.stringify(value);
  return new Shape<T>({ type: 'literal', schema: null, validator }, { const: value });
}

/** A value that is not looked into. */
export function any<T>(json: JsonSchema): Shape<T> {
  return new Shape<T>({ type: 'any', schema: null }, json);
}

/** A value whose only rule is said in a sentence of its own. */
export function ruled<T>(
  json: JsonSchema,
  mistakeOf: (value: unknown) => string | undefined,
  coercer: (value: unknown) => unknown = (value) => value,
): Shape<T> {
  const validator: Props['validator'] = (value, context) => {
    const message = mistakeOf(value);
    return message === undefined || toFailure({ message }, context);
  };
  return new Shape<T>({ type: 'ruled', schema: null, coercer, validator }, json);
}

const HTTP_URL = /^https?:\/\/\S{1,2048}$/i;

/** An http(s) address without a trailing slash. */
export const httpUrl: Shape<string> = leaf<string>({
  type: 'string',
  expected: 'an http or https address without user name, password, query and fragment',
  json: { type: 'string' },
  fits: (written) => plainUrl(written) !== undefined,
  fromText: same,
  tidy: (written) => plainUrl(written) ?? written,
});

function plainUrl(written: string): string | undefined {
  const url = HTTP_URL.test(written) && URL.canParse(written) ? new URL(written) : undefined;
  if (!url || url.username + url.password + url.search + url.hash !== '') return undefined;
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

const IN_CLEAR = 'a secret must not stand in the file: write it as ${NAME} and set NAME in the environment';

/** The variable that holds a secret, written as `${NAME}`. */
export const secret: Shape<Variable> = ruled<Variable>(
  { type: 'string' },
  (value) => (value instanceof Variable ? undefined : IN_CLEAR),
  (value) => variableIn(value) ?? value,
);
