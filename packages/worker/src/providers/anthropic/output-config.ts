import { writeExactly } from '@sluice/shared/json/exact';
import { isObject, type JsonObject } from '../json.js';
import { refuse } from '../refuse.js';
import type { Grammar } from './grammar.js';

/** Stands in for `json_object`, which Anthropic has no mode for. */
export const JSON_OBJECT_INSTRUCTION = 'Answer with one valid JSON object and nothing else.';
/** Stands in for a schema that Anthropic's grammar cannot say; the schema follows. */
export const SCHEMA_INSTRUCTION = 'Answer with nothing but JSON that fits this JSON schema:';

export interface AnswerFormat {
  /** The `format` of `output_config`. */
  format?: JsonObject;
  /** What the model is told instead. */
  instruction?: string;
}

export function toAnswerFormat(responseFormat: unknown, grammar: Grammar): AnswerFormat {
  const format = responseFormat ?? null;
  if (format === null) return {};
  if (isObject(format)) {
    if (format.type === 'text') return {};
    if (format.type === 'json_object') return { instruction: JSON_OBJECT_INSTRUCTION };
    if (format.type === 'json_schema') {
      const schema = isObject(format.json_schema) ? format.json_schema.schema : undefined;
      if (!isObject(schema)) refuse('response_format.json_schema.schema', 'json_schema needs a schema.');
      const fitted = grammar.add(schema);
      if (fitted) return { format: { type: 'json_schema', schema: fitted } };
      return { instruction: `${SCHEMA_INSTRUCTION}\n${writeExactly(schema)}` };
    }
  }
  return refuse('response_format', 'Anthropic takes the formats text, json_object and json_schema.');
}

/** `output_config`, or nothing when the caller asked for neither a schema nor an effort. */
export function toOutputConfig(model: string, { format }: AnswerFormat, effort: unknown): JsonObject {
  const config = { ...(format && { format }), ...toEffort(model, effort ?? null) };
  return Object.keys(config).length === 0 ? {} : { output_config: config };
}

/** From the least to the most. */
const LEVELS = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
type Level = (typeof LEVELS)[number];

/** The levels below `low` have no counterpart; it is the nearest. */
const EFFORTS: Readonly<Record<string, Level>> = {
  none: 'low',
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
};

/** Which levels a model has; the first match holds. A model that is not listed, such as a newer one, has them all. */
const MODEL_LEVELS: readonly { models: RegExp; levels: readonly Level[] }[] = [
  { models: /^claude-(?:instant|\d)/, levels: [] },
  { models: /^claude-(?:opus|sonnet)-4(?:-[01])?(?:-\d{8}|$)/, levels: [] },
  { models: /^claude-(?:sonnet-4-5|haiku-4)/, levels: [] },
  { models: /^claude-opus-4-5/, levels: ['low', 'medium', 'high'] },
  { models: /^claude-(?:opus|sonnet)-4-6/, levels: ['low', 'medium', 'high', 'max'] },
];

/** The asked level, or the next lower one that the model has. A model without levels gets none. */
function toEffort(model: string, effort: unknown): JsonObject {
  if (effort === null) return {};
  const asked = typeof effort === 'string' && Object.hasOwn(EFFORTS, effort) ? EFFORTS[effort] : undefined;
  if (asked === undefined)
    refuse('reasoning_effort', `reasoning_effort is one of ${Object.keys(EFFORTS).join(', ')}.`);
  const levels = MODEL_LEVELS.find((row) => row.models.test(model))?.levels ?? LEVELS;
  const level = LEVELS.slice(0, LEVELS.indexOf(asked) + 1).findLast((candidate) =>
    levels.includes(candidate),
  );
  return level === undefined ? {} : { effort: level };
}
