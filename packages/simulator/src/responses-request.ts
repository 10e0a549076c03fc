/** What OpenAI checks of a request to `/v1/responses`. The rules differ from those of chat completions in names and places. */
import { type Fields, isFields, Refusal } from './dialect.js';
import {
  badPattern,
  checkArray,
  checkRange,
  checkString,
  invalidType,
  invalidValue,
  missing,
  refuse,
} from './openai-refusals.js';
import { reasoningOf } from './refused-fields.js';

const FIELDS = new Set(
  `model input instructions tools tool_choice parallel_tool_calls text reasoning max_output_tokens max_tool_calls temperature
  top_p top_logprobs include service_tier metadata safety_identifier prompt_cache_key prompt_cache_retention
  prompt_cache_options user store stream stream_options background truncation previous_response_id conversation
  prompt`.split(/\s+/),
);
/** Fields of chat completions that have another place here. */
const MOVED: Readonly<Record<string, string>> = {
  messages: 'input',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  verbosity: 'text.verbosity',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
};
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const INCLUDE = [
  'message.output_text.logprobs',
  'reasoning.encrypted_content',
  'message.input_image.image_url',
];

export function checkResponsesRequest(body: Fields, knowsModel: (id: string) => boolean): void {
  for (const field of Object.keys(body)) checkKnown(field);
  const { model } = body;
  checkString(model, 'model');
  if (!knowsModel(model) || model.startsWith('text-embedding'))
    throw refuse(`The requested model '${model}' does not exist.`, 'model', 'model_not_found');
  checkItems(body.input);
  checkPlain(body);
  checkTools(body.tools ?? undefined, body.tool_choice ?? undefined);
  checkText(body);
  checkReasoning(body);
}

function checkKnown(field: string): void {
  if (FIELDS.has(field)) return;
  const place = Object.hasOwn(MOVED, field) ? MOVED[field] : undefined;
  if (place === undefined) throw refuse(`Unknown parameter: '${field}'.`, field, 'unknown_parameter');
  const message = `Unsupported parameter: '${field}'. In the Responses API, this parameter has moved to '${place}'. Try again with the new parameter. See the API documentation for more information: https://platform.openai.com/docs/api-reference/responses/create.`;
  throw refuse(message, field, 'unsupported_parameter');
}

const given = (value: unknown) => value !== undefined && value !== null;

function checkPlain(body: Fields): void {
  const number = (field: string, kind: 'integer' | 'decimal', min: number, max: number) => {
    if (given(body[field])) checkRange(body[field], field, kind, min, max);
  };
  number('temperature', 'decimal', 0, 2);
  number('top_p', 'decimal', 0, 1);
  number('top_logprobs', 'integer', 0, 20);
  number('max_output_tokens', 'integer', 16, Number.MAX_SAFE_INTEGER);
  for (const field of ['store', 'stream', 'background', 'parallel_tool_calls'])
    if (given(body[field]) && typeof body[field] !== 'boolean')
      throw invalidType(field, 'a boolean', body[field]);
  for (const field of ['user', 'safety_identifier', 'prompt_cache_key', 'instructions'])
    if (given(body[field])) checkString(body[field], field);
  const tiers = ['auto', 'default', 'flex', 'scale', 'priority'];
  if (given(body.service_tier) && !tiers.includes(String(body.service_tier)))
    throw invalidValue('service_tier', body.service_tier, tiers);
  if (given(body.metadata) && !isFields(body.metadata))
    throw invalidType('metadata', 'an object', body.metadata);
  if (!given(body.include)) return;
  checkArray(body.include, 'include', 'an array');
  for (const [i, item] of body.include.entries())
    if (!INCLUDE.includes(String(item))) throw invalidValue(`include[${i}]`, item, INCLUDE);
}

const INPUT_PARTS = ['input_text', 'input_image', 'input_file'];
const PARTS: Readonly<Record<string, readonly string[]>> = {
  user: INPUT_PARTS,
  system: INPUT_PARTS,
  developer: INPUT_PARTS,
  assistant: ['output_text', 'refusal'],
};
const FIELDS_OF: Readonly<Record<string, readonly string[]>> = {
  message: ['type', 'role', 'content', 'id', 'status', 'phase'],
  function_call: ['type', 'call_id', 'name', 'arguments', 'id', 'status'],
  function_call_output: ['type', 'call_id', 'output', 'id', 'status'],
  reasoning: ['type', 'id', 'summary', 'content', 'encrypted_content', 'status'],
  input_text: ['type', 'text'],
  input_image: ['type', 'image_url', 'detail', 'file_id'],
  input_file: ['type', 'file_data', 'file_id', 'file_url', 'filename'],
  output_text: ['type', 'text', 'annotations', 'logprobs'],
  refusal: ['type', 'refusal'],
};
const ITEMS = ['message', 'function_call', 'function_call_output', 'reasoning'];

function checkItems(input: unknown): void {
  if (input === undefined) throw missing('input');
  if (typeof input === 'string') return;
  checkArray(input, 'input', 'a string or an array of items');
  const called = new Set<string>();
  const answered = new Set<string>();
  for (const [i, item] of input.entries()) {
    const at = `input[${i}]`;
    if (!isFields(item)) throw invalidType(at, 'an object', item);
    const type = item.type === undefined && item.role !== undefined ? 'message' : item.type;
    if (typeof type !== 'string' || !ITEMS.includes(type)) throw invalidValue(`${at}.type`, type, ITEMS);
    checkFieldsOf(item, type, at);
    if (type === 'message') checkMessage(item, at);
    if (type === 'function_call') {
      for (const field of ['call_id', 'name', 'arguments']) checkString(item[field], `${at}.${field}`);
      called.add(String(item.call_id));
    }
    if (type === 'function_call_output') checkOutput(item, at, called, answered);
  }
  for (const id of called)
    if (!answered.has(id)) throw refuse(`No tool output found for function call ${id}.`, 'input');
}

function checkOutput(item: Fields, at: string, called: ReadonlySet<string>, answered: Set<string>): void {
  checkString(item.call_id, `${at}.call_id`);
  if (!called.has(item.call_id))
    throw refuse(`No tool call found for function call output with call_id ${item.call_id}.`, 'input');
  answered.add(item.call_id);
  if (Array.isArray(item.output)) checkParts(item.output, INPUT_PARTS, `${at}.output`);
  else checkString(item.output, `${at}.output`);
}

function checkFieldsOf(value: Fields, type: string, at: string): void {
  for (const field of Object.keys(value))
    if (!FIELDS_OF[type]?.includes(field))
      throw refuse(`Unknown parameter: '${at}.${field}'.`, `${at}.${field}`, 'unknown_parameter');
}

function checkMessage({ role, content }: Fields, at: string): void {
  checkString(role, `${at}.role`);
  const parts = Object.hasOwn(PARTS, role) ? PARTS[role] : undefined;
  if (parts === undefined) throw invalidValue(`${at}.role`, role, Object.keys(PARTS));
  if (typeof content === 'string') return;
  checkArray(content, `${at}.content`, 'a string or an array of parts');
  checkParts(content, parts, `${at}.content`);
}

function checkParts(parts: readonly unknown[], allowed: readonly string[], at: string): void {
  for (const [i, part] of parts.entries()) {
    const path = `${at}[${i}]`;
    if (!isFields(part)) throw invalidType(path, 'an object', part);
    if (!allowed.includes(String(part.type))) throw invalidValue(path, part.type, allowed);
    checkFieldsOf(part, String(part.type), path);
    if (part.type === 'input_image' && typeof part.image_url !== 'string')
      throw invalidType(`${path}.image_url`, 'a string', part.image_url);
    if (part.type === 'input_file' && !given(part.file_data ?? part.file_id ?? part.file_url))
      throw missing(`${path}.file_data`);
    if (/text$/.test(String(part.type))) checkString(part.text, `${path}.text`);
  }
}

function checkTools(tools: unknown, choice: unknown): void {
  const names = new Set<string>();
  if (tools !== undefined) {
    checkArray(tools, 'tools', 'an array of objects', 128);
    for (const [i, tool] of tools.entries()) names.add(checkTool(tool, `tools[${i}]`));
  }
  if (choice === undefined || ['auto', 'none'].includes(String(choice))) return;
  if (choice === 'required' && names.size === 0)
    throw refuse("Tool choice 'required' must be specified with 'tools' parameter.", 'tool_choice');
  if (choice === 'required') return;
  if (!isFields(choice)) throw invalidValue('tool_choice', choice, ['none', 'auto', 'required']);
  if (choice.type === 'allowed_tools') return;
  if (choice.type !== 'function') throw invalidValue('tool_choice.type', choice.type, ['function']);
  checkString(choice.name, 'tool_choice.name');
  if (!names.has(choice.name))
    throw refuse(`Tool choice 'function' not found in 'tools' parameter.`, 'tool_choice');
}

function checkTool(tool: unknown, at: string): string {
  if (!isFields(tool)) throw invalidType(at, 'an object', tool);
  if (tool.type !== 'function') throw invalidValue(`${at}.type`, tool.type, ['function']);
  for (const field of Object.keys(tool))
    if (!['type', 'name', 'description', 'parameters', 'strict'].includes(field))
      throw refuse(`Unknown parameter: '${at}.${field}'.`, `${at}.${field}`, 'unknown_parameter');
  const { name, parameters } = tool;
  checkString(name, `${at}.name`);
  if (!NAME.test(name)) throw badPattern(`${at}.name`, NAME);
  // A tool is strict here unless it says otherwise.
  if (tool.strict === false || !isFields(parameters)) return name;
  if (parameters.additionalProperties !== false) {
    const message = `Invalid schema for function '${name}': In context=(), 'additionalProperties' is required to be supplied and to be false.`;
    throw refuse(message, `${at}.parameters`, 'invalid_function_parameters');
  }
  return name;
}

function checkText({ text, input, model }: Fields): void {
  if (!given(text)) return;
  if (!isFields(text)) throw invalidType('text', 'an object', text);
  const { format, verbosity } = text;
  const levels = /^gpt-[5-9]/.test(String(model)) ? ['low', 'medium', 'high'] : ['medium'];
  if (given(verbosity) && !levels.includes(String(verbosity)))
    throw invalidValue('text.verbosity', verbosity, levels);
  if (!given(format)) return;
  if (!isFields(format)) throw invalidType('text.format', 'an object', format);
  const types = ['json_object', 'json_schema', 'text'];
  if (!types.includes(String(format.type))) throw invalidValue('text.format.type', format.type, types);
  if (format.type === 'json_object' && !/json/i.test(JSON.stringify(input))) {
    const message =
      "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.";
    throw refuse(message, 'input');
  }
  if (format.type !== 'json_schema') return;
  for (const field of Object.keys(format))
    if (!['type', 'name', 'description', 'schema', 'strict'].includes(field))
      throw refuse(`Unknown parameter: 'text.format.${field}'.`, `text.format.${field}`, 'unknown_parameter');
  checkString(format.name, 'text.format.name');
  if (!NAME.test(format.name)) throw badPattern('text.format.name', NAME);
  if (!isFields(format.schema)) throw missing('text.format.schema');
  if (format.strict === true && format.schema.additionalProperties !== false) {
    const message = `Invalid schema for response_format '${format.name}': In context=(), 'additionalProperties' is required to be supplied and to be false.`;
    throw refuse(message, 'text.format.schema', 'invalid_json_schema');
  }
}

/** Whether this request makes its model think. */
export function thinksByResponses({ model, reasoning }: Fields): boolean {
  const known = reasoningOf(model);
  const effort = isFields(reasoning) ? reasoning.effort : undefined;
  return known !== undefined && (effort ?? known.byDefault) !== 'none';
}

function checkReasoning(body: Fields): void {
  const { reasoning, model } = body;
  const unsupported = (param: string) =>
    refuse(
      `Unsupported parameter: '${param}' is not supported with this model.`,
      param,
      'unsupported_parameter',
    );
  if (given(reasoning)) {
    if (!isFields(reasoning)) throw invalidType('reasoning', 'an object', reasoning);
    for (const field of Object.keys(reasoning))
      if (!['effort', 'summary', 'generate_summary'].includes(field))
        throw refuse(`Unknown parameter: 'reasoning.${field}'.`, `reasoning.${field}`, 'unknown_parameter');
    const known = reasoningOf(model);
    if (known === undefined) throw unsupported('reasoning.effort');
    if (given(reasoning.effort) && !isEffort(String(model), known.efforts, String(reasoning.effort))) {
      const list = known.efforts.map((each) => `'${each}'`).join(', ');
      const message = `Unsupported value: '${String(reasoning.effort)}' is not supported with the '${String(model)}' model. Supported values are: ${list}.`;
      throw refuse(message, 'reasoning.effort', 'unsupported_value');
    }
    const summaries = ['auto', 'concise', 'detailed'];
    if (given(reasoning.summary) && !summaries.includes(String(reasoning.summary)))
      throw invalidValue('reasoning.summary', reasoning.summary, summaries);
  }
  if (!thinksByResponses(body)) return;
  for (const field of ['temperature', 'top_p'])
    if (given(body[field]) && body[field] !== 1) throw unsupported(field);
  if (given(body.top_logprobs)) throw unsupported('top_logprobs');
  if (Array.isArray(body.include) && body.include.includes('message.output_text.logprobs'))
    throw refuse('logprobs are not supported with reasoning models.', 'include');
}

/** The models that think long know nothing else. */
function isEffort(model: string, efforts: readonly string[], effort: string): boolean {
  return /-pro(?:-|$)/.test(model) ? ['medium', 'high', 'xhigh'].includes(effort) : efforts.includes(effort);
}

/** The provider forgets an answer, or never had it. */
export function unknownResponse(id: string): Refusal {
  return new Refusal(404, `Response with id '${id}' not found.`, 'invalid_request_error');
}
