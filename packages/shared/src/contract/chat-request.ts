/** A chat request. Unknown fields are allowed everywhere: they travel to the provider as they are. */
import {
  array,
  arrayOr,
  boolean,
  byField,
  integer,
  isObject,
  kind,
  nonempty,
  number,
  object,
  oneOf,
  type Quick,
  refine,
  string,
} from './quick-structs.js';

const MAX_NAME = 256;
export const nameLength = { minLength: 1, maxLength: MAX_NAME };

const name = refine(string, `must have 1 to ${MAX_NAME} characters`, isNameLength, nameLength);

/** JSON Schema counts characters. JavaScript counts some characters twice. */
function isNameLength(text: string): boolean {
  return (
    text !== '' && (text.length <= MAX_NAME || (text.length <= 2 * MAX_NAME && [...text].length <= MAX_NAME))
  );
}

/** Of these numbers products are made, which have to stay finite. No model writes so much. */
const MOST_TOKENS = Number.MAX_SAFE_INTEGER;
const MOST_CHOICES = 1_000;

const positive = upTo(MOST_TOKENS);

function upTo(most: number) {
  return refine(integer, `must be from 1 to ${most}`, (value) => value >= 1 && value <= most, {
    minimum: 1,
    maximum: most,
  });
}

export const contentPart = byField(
  'type',
  {
    text: object({ type: oneOf('text'), text: string }),
    image_url: object({
      type: oneOf('image_url'),
      image_url: object({ url: string }, { detail: string }),
    }),
  },
  object({ type: string }),
);
const text = kind<string>('a string or an array of parts', (value) => typeof value === 'string', {
  type: 'string',
});
const content = arrayOr(nonempty(array(contentPart)), text);

export const toolCall = object({
  id: name,
  type: oneOf('function'),
  function: object({ name, arguments: string }),
});

const definition = object({ name }, { description: string, parameters: object({}), strict: boolean });
const functionTool = object({ type: oneOf('function'), function: definition });
const tool = byField('type', { function: functionTool }, object({ type: string }));

const stringOrObject = kind<string | object>(
  'a string or an object',
  (value) => typeof value === 'string' || isObject(value),
  { type: ['string', 'object'] },
);
const stop = kind<string | string[]>(
  'a string or an array of strings',
  (value) => typeof value === 'string' || (Array.isArray(value) && value.every(string.test)),
  { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
);

const anyRole = oneOf('developer', 'system', 'user', 'assistant', 'tool', 'function');
/** The roles whose messages have no form of their own. A wrong role is told with all roles. */
const otherRole = anyRole as Quick<'developer' | 'system' | 'user'>;
const message = byField(
  'role',
  {
    assistant: object({ role: oneOf('assistant') }, { name: string, content, tool_calls: array(toolCall) }),
    tool: object({ role: oneOf('tool'), content, tool_call_id: name }, { name: string }),
    function: object({ role: oneOf('function'), name }, { content }),
  },
  object({ role: otherRole, content }, { name: string }),
);

export const chatRequest = object(
  { model: name, messages: nonempty(array(message)) },
  {
    temperature: number,
    max_tokens: positive,
    max_completion_tokens: positive,
    top_p: number,
    stop,
    stream: boolean,
    frequency_penalty: number,
    presence_penalty: number,
    logit_bias: object({}),
    logprobs: boolean,
    top_logprobs: integer,
    metadata: object({}),
    modalities: array(string),
    n: upTo(MOST_CHOICES),
    parallel_tool_calls: boolean,
    prompt_cache_key: string,
    reasoning_effort: string,
    response_format: object({ type: string }),
    safety_identifier: string,
    seed: integer,
    service_tier: string,
    store: boolean,
    tool_choice: stringOrObject,
    tools: array(tool),
    user: string,
    verbosity: string,
  },
);
