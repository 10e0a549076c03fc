/**
 * The shape of a chat request. Unknown fields are allowed everywhere: they travel to the provider as they are. `null`
 * stands for absent, as in the common format.
 */
import * as s from 'superstruct';
import { array, boolean, integer, isObject, kind, number, object, oneOf, string } from './plain-structs.js';

const maybe = <T, S>(struct: s.Struct<T, S>) => s.optional(s.nullable(struct));

const name = s.size(string, 1, 256);
const positive = s.min(integer, 1);

const textPart = object({ type: oneOf(['text']), text: string });
const imagePart = object({
  type: oneOf(['image_url']),
  image_url: object({ url: string, detail: maybe(string) }),
});
const otherPart = object({ type: string });

/** Known parts are checked by their type, so that the error names the field and not the whole union. */
const part = s.dynamic((value) => {
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined;
  if (type === 'text') return textPart as s.Struct<unknown>;
  if (type === 'image_url') return imagePart as s.Struct<unknown>;
  return otherPart as s.Struct<unknown>;
});

const content = s.dynamic((value) =>
  Array.isArray(value)
    ? (s.nonempty(array(part)) as s.Struct<unknown>)
    : kind<unknown>('a string or an array of parts', (v) => typeof v === 'string'),
);

const toolCall = object({
  id: name,
  type: oneOf(['function']),
  function: object({ name, arguments: string }),
});

const message = s.dynamic((value) => {
  const role = typeof value === 'object' && value !== null && 'role' in value ? value.role : undefined;
  const common = {
    role: oneOf(['developer', 'system', 'user', 'assistant', 'tool']),
    name: maybe(string),
  };
  if (role === 'assistant') {
    return object({
      ...common,
      content: maybe(content),
      tool_calls: maybe(array(toolCall)),
    }) as s.Struct<unknown>;
  }
  if (role === 'tool') return object({ ...common, content, tool_call_id: name }) as s.Struct<unknown>;
  return object({ ...common, content }) as s.Struct<unknown>;
});

const tool = s.dynamic((value) => {
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined;
  if (type !== undefined && type !== 'function') return object({ type: string }) as s.Struct<unknown>;
  return object({
    type: oneOf(['function']),
    function: object({
      name,
      description: maybe(string),
      parameters: maybe(object({})),
      strict: maybe(boolean),
    }),
  }) as s.Struct<unknown>;
});

const stringOrObject = kind<unknown>('a string or an object', (v) => typeof v === 'string' || isObject(v));
const stop = kind<unknown>(
  'a string or an array of strings',
  (v) => typeof v === 'string' || (Array.isArray(v) && v.every((item) => typeof item === 'string')),
);

export const chatSchema = object({
  model: name,
  messages: s.nonempty(array(message)),
  temperature: maybe(number),
  max_tokens: maybe(positive),
  max_completion_tokens: maybe(positive),
  top_p: maybe(number),
  stop: maybe(stop),
  stream: maybe(boolean),
  frequency_penalty: maybe(number),
  presence_penalty: maybe(number),
  logit_bias: maybe(object({})),
  logprobs: maybe(boolean),
  top_logprobs: maybe(integer),
  metadata: maybe(object({})),
  modalities: maybe(array(string)),
  n: maybe(positive),
  parallel_tool_calls: maybe(boolean),
  prompt_cache_key: maybe(string),
  reasoning_effort: maybe(string),
  response_format: maybe(object({ type: string })),
  safety_identifier: maybe(string),
  seed: maybe(integer),
  service_tier: maybe(string),
  store: maybe(boolean),
  tool_choice: maybe(stringOrObject),
  tools: maybe(array(tool)),
  user: maybe(string),
  verbosity: maybe(string),
});
