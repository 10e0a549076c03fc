/**
 * The shape of a chat request. Unknown fields are allowed everywhere: they travel to the provider as they are. `null`
 * stands for absent, as in the common format.
 *
 * superstruct visits every field that a struct names, present or not. A request has few of the many it may have, and many
 * messages, so the outer two levels are walked here and only what is present is given to superstruct.
 */
import * as s from 'superstruct';
import { array, boolean, integer, isObject, kind, number, object, oneOf, string } from './plain-structs.js';

type AnyStruct = s.Struct<unknown>;

const name = s.size(string, 1, 256);
const positive = s.min(integer, 1);
const maybe = <T, S>(struct: s.Struct<T, S>) => s.optional(s.nullable(struct));

const textPart = object({ type: oneOf(['text']), text: string });
const imagePart = object({
  type: oneOf(['image_url']),
  image_url: object({ url: string, detail: maybe(string) }),
});
const otherPart = object({ type: string });

/** Known parts are checked by their type, so that the error names the field and not the whole union. */
const part = s.dynamic((value): AnyStruct => {
  const type = isObject(value) && 'type' in value ? value.type : undefined;
  if (type === 'text') return textPart as AnyStruct;
  if (type === 'image_url') return imagePart as AnyStruct;
  return otherPart as AnyStruct;
});

const parts = s.nonempty(array(part)) as AnyStruct;
const text = kind<unknown>('a string or an array of parts', (value) => typeof value === 'string');
const content = s.dynamic((value): AnyStruct => (Array.isArray(value) ? parts : text));

const toolCall = object({
  id: name,
  type: oneOf(['function']),
  function: object({ name, arguments: string }),
});

const functionTool = object({
  type: oneOf(['function']),
  function: object({
    name,
    description: maybe(string),
    parameters: maybe(object({})),
    strict: maybe(boolean),
  }),
});
const otherTool = object({ type: string });
const tool = s.dynamic((value): AnyStruct => {
  const type = isObject(value) && 'type' in value ? value.type : undefined;
  return (type === undefined || type === 'function' ? functionTool : otherTool) as AnyStruct;
});

const stringOrObject = kind<unknown>(
  'a string or an object',
  (value) => typeof value === 'string' || isObject(value),
);
const stop = kind<unknown>(
  'a string or an array of strings',
  (value) =>
    typeof value === 'string' || (Array.isArray(value) && value.every((item) => typeof item === 'string')),
);

/** `required` fields may be neither absent nor null; the others are checked when they are there. */
interface Shape {
  required: ReadonlyMap<string, AnyStruct>;
  optional: ReadonlyMap<string, AnyStruct>;
}

const shape = (required: Record<string, unknown>, optional: Record<string, unknown>): Shape => ({
  required: new Map(Object.entries(required)) as Map<string, AnyStruct>,
  optional: new Map(Object.entries(optional)) as Map<string, AnyStruct>,
});

const role = oneOf(['developer', 'system', 'user', 'assistant', 'tool', 'function']);
const messageShapes: Record<string, Shape> = {
  assistant: shape({ role }, { name: string, content, tool_calls: array(toolCall) }),
  tool: shape({ role, content, tool_call_id: name }, { name: string }),
  function: shape({ role, name }, { content }),
};
const plainMessage = shape({ role, content }, { name: string });

const messages = s.nonempty(kind<unknown[]>('an array', Array.isArray));
const requestShape = shape(
  { model: name, messages },
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
    n: positive,
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

export interface Fault {
  path: (string | number)[];
  failure: s.Failure;
}

/** The first thing that is wrong with the request. */
export function findFault(request: object): Fault | undefined {
  const fault = findFaultIn(request as Fields, requestShape);
  if (fault) return fault;
  for (const [i, message] of (request as { messages: unknown[] }).messages.entries()) {
    const messageFault = findFaultInMessage(message);
    if (messageFault) return { ...messageFault, path: ['messages', i, ...messageFault.path] };
  }
  return undefined;
}

type Fields = Readonly<Record<string, unknown>>;

const PLAIN_ROLES: ReadonlySet<unknown> = new Set(['developer', 'system', 'user', 'assistant']);

/** Most messages are a role and a text: nothing in them is left to check. */
function isPlain(message: Fields): boolean {
  return (
    typeof message.content === 'string' && PLAIN_ROLES.has(message.role) && Object.keys(message).length === 2
  );
}

function findFaultInMessage(message: unknown): Fault | undefined {
  if (!isObject(message)) return check(message, object({}) as AnyStruct, []);
  const fields = message as Fields;
  if (isPlain(fields)) return undefined;
  const known = typeof fields.role === 'string' && Object.hasOwn(messageShapes, fields.role);
  return findFaultIn(fields, (known && messageShapes[fields.role as string]) || plainMessage);
}

function findFaultIn(fields: Fields, { required, optional }: Shape): Fault | undefined {
  for (const [field, struct] of required) {
    const fault = check(Object.hasOwn(fields, field) ? fields[field] : undefined, struct, [field]);
    if (fault) return fault;
  }
  for (const field of Object.keys(fields)) {
    const struct = optional.get(field);
    const value = fields[field];
    const fault = struct && value !== null ? check(value, struct, [field]) : undefined;
    if (fault) return fault;
  }
  return undefined;
}

function check(value: unknown, struct: AnyStruct, path: (string | number)[]): Fault | undefined {
  const [error] = struct.validate(value);
  const [failure] = error?.failures() ?? [];
  return failure && { path: [...path, ...failure.path], failure };
}
