import { type Fields, IMAGE_TYPES, isBase64, isFields } from './dialect.js';
import {
  badPattern,
  checkArray,
  checkString,
  invalidType,
  invalidValue,
  missing,
  refuse,
} from './openai-refusals.js';

const ROLES = ['system', 'assistant', 'user', 'function', 'tool', 'developer'];
/** LiteLLM sends the last one back with a message that it was given; OpenAI takes it, other servers do not. */
const FIELDS = new Set(
  'role content name tool_calls tool_call_id refusal audio annotations function_call provider_specific_fields'.split(
    ' ',
  ),
);
const NAME = /^[^\s<|\\/>]+$/;
const PARTS: Record<string, readonly string[]> = {
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
};
const TEXT_ONLY = ['text'];

export function checkMessages(messages: unknown, checkFieldsOf: typeof checkMessageFields): void {
  if (messages === undefined) throw missing('messages');
  checkArray(messages, 'messages', 'an array of objects');
  // Ids of the assistant's calls that the following tool messages still have to answer.
  let open: Set<string> | undefined;
  for (const [i, message] of messages.entries()) {
    const at = `messages[${i}]`;
    checkMessage(message, at);
    checkFieldsOf(message, at);
    if (message.role === 'tool') {
      checkToolAnswer(message, i, open);
    } else {
      if (open !== undefined && open.size > 0) throw unanswered(open, `messages.[${i}].role`);
      open = Array.isArray(message.tool_calls) ? checkToolCalls(message.tool_calls, at) : undefined;
    }
  }
  if (open !== undefined && open.size > 0) throw unanswered(open, 'messages');
}

function checkMessage(message: unknown, at: string): asserts message is Fields {
  if (!isFields(message)) throw invalidType(at, 'an object', message);
  checkString(message.role, `${at}.role`);
  if (!ROLES.includes(message.role)) throw invalidValue(`${at}.role`, message.role, ROLES);
  if (message.name !== undefined && message.name !== null) {
    checkString(message.name, `${at}.name`);
    if (!NAME.test(message.name)) throw badPattern(`${at}.name`, NAME);
  }
  if (message.tool_calls !== undefined && message.tool_calls !== null) {
    checkArray(message.tool_calls, `${at}.tool_calls`, 'an array of objects', 128);
  }
  checkContent(message, at);
}

export function checkMessageFields(message: Fields, at: string): void {
  for (const field of Object.keys(message)) {
    if (!FIELDS.has(field))
      throw refuse(`Unknown parameter: '${at}.${field}'.`, `${at}.${field}`, 'unknown_parameter');
  }
}

function checkContent(message: Fields, at: string): void {
  const { content, role } = message;
  if (typeof content === 'string') return;
  if (content === undefined || content === null) {
    const instead = message.tool_calls ?? message.function_call ?? message.refusal ?? message.audio ?? null;
    if (role === 'function' || (role === 'assistant' && instead !== null)) return;
    if (content === undefined) throw missing(`${at}.content`);
    throw refuse(
      "Invalid value for 'content': expected a string, got null.",
      at.replace('[', '.[').concat('.content'),
    );
  }
  if (!Array.isArray(content))
    throw invalidType(`${at}.content`, 'one of a string or array of objects', content);
  checkArray(content, `${at}.content`, 'an array of objects');
  for (const [i, part] of content.entries()) checkPart(part, String(role), `${at}.content[${i}]`);
}

function checkPart(part: unknown, role: string, at: string): void {
  if (!isFields(part)) throw invalidType(at, 'an object', part);
  checkString(part.type, `${at}.type`);
  const allowed = PARTS[role] ?? TEXT_ONLY;
  if (!allowed.includes(part.type)) throw invalidValue(`${at}.type`, part.type, allowed);
  if (part.type === 'text') checkString(part.text, `${at}.text`);
  if (part.type === 'image_url') checkImage(part.image_url, `${at}.image_url`);
  if (part.type === 'input_audio' && !isFields(part.input_audio)) throw missing(`${at}.input_audio`);
  if (part.type === 'file' && !isFields(part.file)) throw missing(`${at}.file`);
}

function checkImage(image: unknown, at: string): void {
  if (image === undefined) throw missing(at);
  if (!isFields(image)) throw invalidType(at, 'an object', image);
  checkString(image.url, `${at}.url`);
  if (image.detail !== undefined && !['auto', 'low', 'high', 'original'].includes(String(image.detail))) {
    throw invalidValue(`${at}.detail`, image.detail, ['auto', 'low', 'high']);
  }
  if (/^https?:\/\/[^\s/]/i.test(image.url)) return;
  const data = /^data:([^;,]+)(?:;[^;,]+)*;base64,/i.exec(image.url);
  if (data === null) {
    throw refuse(
      `Invalid image URL: '${image.url.slice(0, 40)}'. Expected a valid URL.`,
      at,
      'invalid_image_url',
    );
  }
  if (!IMAGE_TYPES.has(String(data[1]).toLowerCase())) {
    const message =
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].";
    throw refuse(message, null, 'invalid_image_format');
  }
  if (!isBase64(image.url.slice(data[0].length))) {
    throw refuse('Invalid base64 image_url.', at, 'invalid_base64');
  }
}

function checkToolCalls(calls: readonly unknown[], at: string): Set<string> {
  const ids = new Set<string>();
  for (const [i, call] of calls.entries()) {
    const path = `${at}.tool_calls[${i}]`;
    if (!isFields(call)) throw invalidType(path, 'an object', call);
    checkString(call.id, `${path}.id`);
    if (call.type !== 'function') throw invalidValue(`${path}.type`, call.type, ['function']);
    if (!isFields(call.function)) throw missing(`${path}.function`);
    checkString(call.function.name, `${path}.function.name`);
    checkString(call.function.arguments, `${path}.function.arguments`);
    ids.add(call.id);
  }
  return ids;
}

function checkToolAnswer(message: Fields, i: number, open: Set<string> | undefined): void {
  checkString(message.tool_call_id, `messages[${i}].tool_call_id`);
  if (open === undefined) {
    // The misspelling is the provider's own.
    const text =
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
    throw refuse(text, `messages.[${i}].role`);
  }
  if (!open.delete(message.tool_call_id)) {
    const text = `Invalid parameter: 'tool_call_id' of '${message.tool_call_id}' not found in 'tool_calls' of previous message.`;
    throw refuse(text, `messages.[${i}].tool_call_id`);
  }
}

function unanswered(ids: ReadonlySet<string>, param: string) {
  const text = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...ids].join(', ')}`;
  return refuse(text, param);
}
