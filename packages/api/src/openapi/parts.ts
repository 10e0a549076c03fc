/** Small builders, so that the document reads as a table of paths. */
import { ERROR_STATUS, type ErrorCode } from '@sluice/shared/errors';

export type Schema = Readonly<Record<string, unknown>>;

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const text: Schema = { type: 'string' };
export const textOrNull: Schema = { type: ['string', 'null'] };
export const whole: Schema = { type: 'integer', minimum: 0 };
export const wholeOrNull: Schema = { type: ['integer', 'null'], minimum: 0 };
export const matching = ({ source }: RegExp): Schema => ({ type: 'string', pattern: source });
export const within = (minimum: number, maximum: number): Schema => ({ type: 'integer', minimum, maximum });
export const flag: Schema = { type: 'boolean' };
export const moment: Schema = { type: 'string', format: 'date-time' };
export const momentOrNull: Schema = { type: ['string', 'null'], format: 'date-time' };
export const usd: Schema = {
  type: 'string',
  pattern: '^-?\\d+\\.\\d{6}$',
  description: 'USD with six decimals.',
};
export const picodollars: Schema = {
  type: 'string',
  pattern: '^-?\\d+$',
  description: 'Exact amount in 10⁻¹² USD.',
};
export const oneOf = (...values: string[]): Schema => ({ type: 'string', enum: values });
export const arrayOf = (items: Schema): Schema => ({ type: 'array', items });
export const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] });

/** An object with only these fields. Those in `optional` may be missing. */
export function object(fields: Record<string, Schema>, optional: Record<string, Schema> = {}): Schema {
  return {
    type: 'object',
    properties: { ...fields, ...optional },
    required: Object.keys(fields),
    additionalProperties: false,
  };
}

export const listOf = (schema: Schema, more: Record<string, Schema> = {}): Schema =>
  object({ object: { const: 'list' }, data: arrayOf(schema), ...more });

export const deleted = (
  kind: string,
  more: Record<string, Schema> = {},
  optional: Record<string, Schema> = {},
): Schema => object({ id: text, object: { const: kind }, deleted: { const: true }, ...more }, optional);

export interface Answer {
  description: string;
  content?: Record<string, { schema: Schema }>;
  headers?: Record<string, unknown>;
}

export const json = (description: string, schema: Schema, headers?: Record<string, unknown>): Answer => ({
  description,
  content: { 'application/json': { schema } },
  ...(headers ? { headers } : {}),
});

/** Codes with the same status share one answer. */
export function errors(...codes: ErrorCode[]): Record<string, Answer> {
  const answers = new Map<number, ErrorCode[]>();
  for (const code of codes)
    answers.set(ERROR_STATUS[code], [...(answers.get(ERROR_STATUS[code]) ?? []), code]);
  return Object.fromEntries(
    [...answers].map(([status, those]) => [String(status), json(those.join(', '), ref('Error'))]),
  );
}

export interface Operation {
  summary: string;
  parameters?: unknown[];
  requestBody?: unknown;
  responses: Record<string, Answer>;
  security?: unknown[];
}

export const body = (schema: Schema, required = true) => ({
  required,
  content: { 'application/json': { schema } },
});

export const inPath = (name: string, description: string) => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: text,
});

export const inQuery = (name: string, description: string, schema: Schema = text) => ({
  name,
  in: 'query',
  required: false,
  description,
  schema,
});
