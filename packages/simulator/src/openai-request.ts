import { type Fields, isFields, Refusal, type ServerName } from './dialect.js';
import { findRefused } from './find-refused.js';
import { checkMessageFields, checkMessages } from './openai-messages.js';
import { checkArray, checkRange, checkString, invalidType, invalidValue, refuse } from './openai-refusals.js';
import { SERVERS, unknownFields } from './openai-servers.js';
import { checkResponseFormat, checkTools } from './openai-tools.js';

const FIELDS = new Set(
  `messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
  metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
  prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier
  stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity
  web_search_options`.split(/\s+/),
);

type Check = (value: unknown, param: string) => void;

const decimal =
  (min: number, max: number): Check =>
  (value, param) =>
    checkRange(value, param, 'decimal', min, max);
const integer =
  (min: number, max: number): Check =>
  (value, param) =>
    checkRange(value, param, 'integer', min, max);
const oneOf =
  (...values: string[]): Check =>
  (value, param) => {
    if (!values.includes(String(value))) throw invalidValue(param, value, values);
  };
const boolean: Check = (value, param) => {
  if (typeof value !== 'boolean') throw invalidType(param, 'a boolean', value);
};
const fields: Check = (value, param) => {
  if (!isFields(value)) throw invalidType(param, 'an object', value);
};

/** Fields of one value; null means absent for all of them. */
const CHECKS: Record<string, Check> = {
  temperature: decimal(0, 2),
  top_p: decimal(0, 1),
  frequency_penalty: decimal(-2, 2),
  presence_penalty: decimal(-2, 2),
  n: integer(1, 128),
  max_tokens: integer(1, Number.MAX_SAFE_INTEGER),
  max_completion_tokens: integer(1, Number.MAX_SAFE_INTEGER),
  top_logprobs: integer(0, 20),
  seed: integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  stop: checkStop,
  stream: boolean,
  store: boolean,
  logprobs: boolean,
  parallel_tool_calls: boolean,
  user: checkString,
  safety_identifier: checkString,
  prompt_cache_key: checkString,
  metadata: fields,
  logit_bias: fields,
  stream_options: fields,
  service_tier: oneOf('auto', 'default', 'flex', 'scale', 'priority'),
  reasoning_effort: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
  verbosity: oneOf('low', 'medium', 'high'),
};

const RESPONSES_ONLY = /^(?:o\d|gpt-).*-(?:pro|codex|deep-research)(?:-|$)/;

export function checkChatRequest(body: Fields, knowsModel: (id: string) => boolean): void {
  const unknown = Object.keys(body).filter((field) => !FIELDS.has(field));
  if (unknown.length > 0) throw unrecognized(unknown, body.model);
  checkFormat(body, knowsModel, checkMessageFields);
  checkRefused('openai', body);
}

/** A request to another server that takes the format. */
export function checkRequestTo(server: ServerName, body: Fields, knowsModel: (id: string) => boolean): void {
  checkFormat(body, knowsModel, () => {});
  const unknown = unknownFields(SERVERS[server], body);
  const refusal = unknown.length > 0 ? SERVERS[server].refuseUnknown?.(unknown) : undefined;
  if (refusal !== undefined) throw refusal;
  checkRefused(server, body);
}

function checkFormat(
  body: Fields,
  knowsModel: (id: string) => boolean,
  checkFieldsOf: typeof checkMessageFields,
): void {
  const { model } = body;
  if (model === undefined || model === null || model === '')
    throw refuse('you must provide a model parameter');
  checkString(model, 'model');
  checkModel(model, knowsModel);
  checkMessages(body.messages, checkFieldsOf);
  for (const [field, value] of Object.entries(body)) {
    if (value !== null) CHECKS[field]?.(value, field);
  }
  checkCombinations(body);
  checkTools(body);
  checkResponseFormat(body);
}

/** What the model itself refuses. */
function checkRefused(provider: 'openai' | ServerName, body: Fields): void {
  const found = findRefused(provider, body);
  if (found === undefined) return;
  const { row, message, param } = found;
  throw new Refusal(row.status ?? 400, message, row.type ?? 'invalid_request_error', param, row.code ?? null);
}

function checkModel(model: string, knowsModel: (id: string) => boolean): void {
  if (!knowsModel(model)) {
    const message = `The model \`${model}\` does not exist or you do not have access to it.`;
    throw new Refusal(404, message, 'invalid_request_error', null, 'model_not_found');
  }
  if (RESPONSES_ONLY.test(model)) {
    const message = 'This model is only supported in v1/responses and not in v1/chat/completions.';
    throw new Refusal(404, message, 'invalid_request_error', 'model');
  }
  if (model.startsWith('text-embedding')) {
    const message =
      'This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use v1/completions?';
    throw new Refusal(404, message, 'invalid_request_error', 'model');
  }
}

function checkStop(value: unknown, param: string): void {
  if (typeof value === 'string') return;
  if (!Array.isArray(value)) throw invalidType(param, 'one of a string or array of strings', value);
  checkArray(value, param, 'an array of strings', 4);
  for (const [i, item] of value.entries()) checkString(item, `${param}[${i}]`);
}

function checkCombinations(body: Fields): void {
  const given = (field: string) => body[field] !== undefined && body[field] !== null;
  if (given('max_tokens') && given('max_completion_tokens')) {
    const message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
    throw refuse(message, 'max_tokens', 'invalid_parameter_combination');
  }
  if (given('top_logprobs') && body.logprobs !== true) {
    throw refuse("The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.", 'top_logprobs');
  }
  if (given('stream_options') && body.stream !== true) {
    throw refuse(
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      'stream_options',
    );
  }
}

/** The newer models name the first one. */
function unrecognized(names: string[], model: unknown): Refusal {
  const [first] = names;
  if (/^gpt-[5-9]/.test(String(model)))
    return refuse(`Unknown parameter: '${first}'.`, first, 'unknown_parameter');
  return refuse(
    `Unrecognized request argument${names.length > 1 ? 's' : ''} supplied: ${names.sort().join(', ')}`,
  );
}
