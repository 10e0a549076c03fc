/** Small builders of operations, so that the document reads as a table of paths. */
import {
  error,
  type Schema as FieldSchema,
  type Fields,
  type JsonSchema,
  Shape,
  text,
} from '@sluice/shared/contract/all';
import { ERROR_STATUS, type ErrorCode } from '@sluice/shared/errors';

/** A struct of the contract, or JSON Schema. */
export type Described = Shape | JsonSchema;

const schemaOf = (described: Described): JsonSchema =>
  described instanceof Shape ? described.json : described;

export interface DescribedResponse {
  description: string;
  content?: Record<string, { schema: JsonSchema }>;
  headers?: Record<string, unknown>;
}

export const json = (
  description: string,
  answer: Described,
  headers?: Record<string, unknown>,
): DescribedResponse => ({
  description,
  content: { 'application/json': { schema: schemaOf(answer) } },
  ...(headers ? { headers } : {}),
});

/** Codes with the same status share one answer. */
export function errors(...codes: ErrorCode[]): Record<string, DescribedResponse> {
  const answers = new Map<number, ErrorCode[]>();
  for (const code of codes)
    answers.set(ERROR_STATUS[code], [...(answers.get(ERROR_STATUS[code]) ?? []), code]);
  return Object.fromEntries(
    [...answers].map(([status, those]) => [String(status), json(those.join(', '), error)]),
  );
}

export interface Operation {
  summary: string;
  parameters?: unknown[];
  requestBody?: unknown;
  responses: Record<string, DescribedResponse>;
  security?: unknown[];
  /** Of the admin api: the role that it needs, and where. */
  'x-role'?: string | undefined;
  'x-where'?: string | undefined;
}

export const body = (input: Described, required = true) => ({
  required,
  content: { 'application/json': { schema: schemaOf(input) } },
});

export const inPath = (name: string, description: string) => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: text().json,
});

export const inQuery = (name: string, description: string, shape: Shape = text()) => ({
  name,
  in: 'query',
  required: false,
  description,
  schema: shape.json,
});

/** The parameters of a query. */
export const query = ({ schema }: Fields<FieldSchema>) =>
  Object.entries(schema).map(([name, { json }]) => {
    const { description, ...rest } = json;
    return { name, in: 'query', required: false, description, schema: rest };
  });
