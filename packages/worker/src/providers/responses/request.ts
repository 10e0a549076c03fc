import type { ChatRequest } from '@sluice/shared/chat';
import type { ChainEntry } from '@sluice/shared/queue/job';
import { isObject, type JsonObject } from '../json.js';
import { refuse } from '../refuse.js';
import { DROPPED_FIELDS, REFUSED_FIELDS, SAME_FIELDS, TRANSLATED_FIELDS } from './fields.js';
import { toInput } from './input.js';
import { toTools } from './tools.js';

/** OpenAI refuses a lower limit at this endpoint. */
const LEAST_OUTPUT_TOKENS = 16;
const KNOWN: ReadonlySet<string> = new Set([
  ...SAME_FIELDS,
  ...TRANSLATED_FIELDS,
  ...Object.keys(DROPPED_FIELDS),
]);

export function buildRequest(request: ChatRequest, entry: ChainEntry): JsonObject {
  refuseFields(request);
  return {
    model: entry.model,
    input: toInput(request.messages),
    // The default is to keep the answer for a month.
    store: false,
    ...toTokenLimit(request, entry),
    ...pick(request, SAME_FIELDS),
    ...toTools(request),
    ...toText(request),
    ...toReasoning(request),
    ...(request.logprobs === true ? { include: ['message.output_text.logprobs'] } : {}),
  };
}

function refuseFields(request: ChatRequest): void {
  for (const field of Object.keys(request)) {
    const value = request[field] ?? null;
    if (value === null || KNOWN.has(field)) continue;
    const refused = Object.hasOwn(REFUSED_FIELDS, field) ? REFUSED_FIELDS[field] : undefined;
    if (refused && !refused.refuses(value)) continue;
    const reason = refused?.reason ?? 'it has no such field';
    const shown = field.slice(0, 64);
    refuse(shown, `${shown} cannot be served by Responses: ${reason}.`);
  }
}

/** `max_completion_tokens` is the newer name, and wins. */
function toTokenLimit(request: ChatRequest, { max_tokens: cap }: ChainEntry): JsonObject {
  const field = (request.max_completion_tokens ?? null) === null ? 'max_tokens' : 'max_completion_tokens';
  const asked = request[field] ?? cap;
  if (asked === undefined) return {};
  const limit = Math.min(asked, cap ?? asked);
  if (limit < LEAST_OUTPUT_TOKENS)
    refuse(field, `${field} below ${LEAST_OUTPUT_TOKENS} cannot be served by Responses.`);
  return { max_output_tokens: limit };
}

function toText({ response_format: given = null, verbosity = null }: ChatRequest): JsonObject {
  const format = given === null ? undefined : toFormat(given);
  const text = { ...(format && { format }), ...(verbosity === null ? {} : { verbosity }) };
  return Object.keys(text).length === 0 ? {} : { text };
}

function toFormat(format: unknown): JsonObject | undefined {
  const { type, json_schema: named } = isObject(format) ? format : {};
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type };
  if (type !== 'json_schema')
    refuse('response_format', 'Responses takes the formats text, json_object and json_schema.');
  if (!isObject(named) || !isObject(named.schema))
    refuse('response_format.json_schema.schema', 'json_schema needs a schema.');
  return { type, ...named, strict: named.strict ?? false };
}

/** Only Responses has summaries of thoughts, so a caller asks for them as one does there: `reasoning: {summary: 'auto'}`. */
function toReasoning({ reasoning_effort: effort = null, reasoning = null }: ChatRequest): JsonObject {
  if (reasoning !== null && !isObject(reasoning)) refuse('reasoning', 'reasoning is an object.');
  const whole = { ...reasoning, ...(effort === null ? {} : { effort }) };
  return Object.keys(whole).length === 0 ? {} : { reasoning: whole };
}

function pick(request: ChatRequest, fields: readonly string[]): JsonObject {
  const picked: JsonObject = {};
  for (const field of fields) if ((request[field] ?? null) !== null) picked[field] = request[field];
  return picked;
}
