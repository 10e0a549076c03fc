/**
 * The shape of a chat request. Unknown fields are allowed everywhere: they travel to the provider as they are. `null`
 * stands for absent, as in the common format.
 */
import * as s from 'superstruct';

const maybe = <T, S>(struct: s.Struct<T, S>) => s.optional(s.nullable(struct));

const name = s.size(s.string(), 1, 256);
const positive = s.min(s.integer(), 1);

const textPart = s.type({ type: s.literal('text'), text: s.string() });
const imagePart = s.type({
  type: s.literal('image_url'),
  image_url: s.type({ url: s.string(), detail: maybe(s.string()) }),
});
const otherPart = s.type({ type: s.string() });

/** Known parts are checked by their type, so that the error names the field and not the whole union. */
const part = s.dynamic((value) => {
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined;
  if (type === 'text') return textPart as s.Struct<unknown>;
  if (type === 'image_url') return imagePart as s.Struct<unknown>;
  return otherPart as s.Struct<unknown>;
});

const content = s.dynamic((value) =>
  Array.isArray(value)
    ? (s.nonempty(s.array(part)) as s.Struct<unknown>)
    : (s.define('string or array of parts', (v) => typeof v === 'string') as s.Struct<unknown>),
);

const toolCall = s.type({
  id: name,
  type: s.literal('function'),
  function: s.type({ name, arguments: s.string() }),
});

const message = s.dynamic((value) => {
  const role = typeof value === 'object' && value !== null && 'role' in value ? value.role : undefined;
  const common = {
    role: s.enums(['developer', 'system', 'user', 'assistant', 'tool']),
    name: maybe(s.string()),
  };
  if (role === 'assistant') {
    return s.type({
      ...common,
      content: maybe(content),
      tool_calls: maybe(s.array(toolCall)),
    }) as s.Struct<unknown>;
  }
  if (role === 'tool') return s.type({ ...common, content, tool_call_id: name }) as s.Struct<unknown>;
  return s.type({ ...common, content }) as s.Struct<unknown>;
});

const tool = s.dynamic((value) => {
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined;
  if (type !== undefined && type !== 'function') return s.type({ type: s.string() }) as s.Struct<unknown>;
  return s.type({
    type: s.literal('function'),
    function: s.type({
      name,
      description: maybe(s.string()),
      parameters: maybe(s.type({})),
      strict: maybe(s.boolean()),
    }),
  }) as s.Struct<unknown>;
});

const stringOrObject = s.define<unknown>('string or object', (v) => typeof v === 'string' || isObject(v));
const stop = s.define<unknown>(
  'string or array of strings',
  (v) => typeof v === 'string' || (Array.isArray(v) && v.every((item) => typeof item === 'string')),
);

export const chatSchema = s.type({
  model: name,
  messages: s.nonempty(s.array(message)),
  temperature: maybe(s.number()),
  max_tokens: maybe(positive),
  max_completion_tokens: maybe(positive),
  top_p: maybe(s.number()),
  stop: maybe(stop),
  stream: maybe(s.boolean()),
  frequency_penalty: maybe(s.number()),
  presence_penalty: maybe(s.number()),
  logit_bias: maybe(s.type({})),
  logprobs: maybe(s.boolean()),
  top_logprobs: maybe(s.integer()),
  metadata: maybe(s.type({})),
  modalities: maybe(s.array(s.string())),
  n: maybe(positive),
  parallel_tool_calls: maybe(s.boolean()),
  prompt_cache_key: maybe(s.string()),
  reasoning_effort: maybe(s.string()),
  response_format: maybe(s.type({ type: s.string() })),
  safety_identifier: maybe(s.string()),
  seed: maybe(s.integer()),
  service_tier: maybe(s.string()),
  store: maybe(s.boolean()),
  tool_choice: maybe(stringOrObject),
  tools: maybe(s.array(tool)),
  user: maybe(s.string()),
  verbosity: maybe(s.string()),
});

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
