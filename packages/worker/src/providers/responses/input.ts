/** The messages of a chat as the items of Responses, in their order. */
import type { ChatMessage } from '@sluice/shared/chat';
import { isObject, type JsonObject, toText } from '../json.js';
import { refuse } from '../refuse.js';

export function toInput(messages: readonly ChatMessage[]): JsonObject[] {
  return messages.flatMap((message, i) => toItems(message, `messages[${i}]`));
}

function toItems(message: ChatMessage, path: string): JsonObject[] {
  const { role, content } = message;
  if (role === 'tool') return [toToolOutput(message.tool_call_id, content, path)];
  // A tool's name is that of its call. Elsewhere it tells speakers apart.
  if ((message.name ?? null) !== null)
    refuse(`${path}.name`, 'A message has no name at Responses; say it in its text.');
  switch (role) {
    case 'system':
    case 'developer':
      return toMessage(role, toParts(content, TEXT_PARTS, `${path}.content`));
    case 'user':
      return toMessage(role, toParts(content, USER_PARTS, `${path}.content`));
    case 'assistant':
      return toAssistantItems(message, path);
    default:
      return refuse(`${path}.role`, 'Responses takes no message of this role.');
  }
}

function toMessage(role: string, content: JsonObject[]): JsonObject[] {
  return content.length === 0 ? [] : [{ type: 'message', role, content }];
}

/** Each call is an item of its own, after the text. Thoughts of other providers mean nothing here. */
function toAssistantItems(message: ChatMessage & { role: 'assistant' }, path: string): JsonObject[] {
  for (const field of ['function_call', 'audio'])
    if ((message[field] ?? null) !== null)
      refuse(`${path}.${field}`, `Responses takes no ${field} in a message.`);
  const parts = toParts(message.content ?? null, ASSISTANT_PARTS, `${path}.content`);
  const { refusal, tool_calls: calls } = message;
  if (typeof refusal === 'string' && refusal !== '') parts.push({ type: 'refusal', refusal });
  if ((calls ?? null) !== null && !Array.isArray(calls))
    refuse(`${path}.tool_calls`, 'tool_calls is a list.');
  return [
    ...toMessage('assistant', parts),
    ...(calls ?? []).map((call, i) => toCall(call, `${path}.tool_calls[${i}]`)),
  ];
}

function toCall(call: unknown, path: string): JsonObject {
  const { id, function: named } = isObject(call) ? call : {};
  const { name, arguments: text } = isObject(named) ? named : {};
  if (typeof id !== 'string' || typeof name !== 'string' || typeof text !== 'string')
    refuse(path, 'A tool call needs an id, and a function with name and arguments.');
  return { type: 'function_call', call_id: id, name, arguments: text };
}

function toToolOutput(id: unknown, content: unknown, path: string): JsonObject {
  if (typeof id !== 'string') refuse(`${path}.tool_call_id`, 'A tool message needs the id of its call.');
  const output = typeof content === 'string' ? content : toParts(content, TEXT_PARTS, `${path}.content`);
  return { type: 'function_call_output', call_id: id, output };
}

type PartReader = (part: JsonObject, path: string) => JsonObject;
type PartReaders = Readonly<Record<string, PartReader>>;

const textAs =
  (type: string): PartReader =>
  ({ text }, path) => {
    if (typeof text !== 'string') refuse(`${path}.text`, 'A text part needs a text.');
    return { type, text };
  };

const refusal: PartReader = ({ refusal: text }, path) => {
  if (typeof text !== 'string') refuse(`${path}.refusal`, 'A refusal part needs a refusal.');
  return { type: 'refusal', refusal: text };
};

const image: PartReader = ({ image_url: image }, path) => {
  const url = isObject(image) ? toText(image.url) : undefined;
  if (!isObject(image) || url === undefined) refuse(`${path}.image_url.url`, 'An image part needs a URL.');
  return { type: 'input_image', image_url: url, detail: toText(image.detail) ?? 'auto' };
};

const file: PartReader = ({ file: given }, path) => {
  const { file_id: id, file_data: data, filename } = isObject(given) ? given : {};
  if (toText(id) !== undefined) return { type: 'input_file', file_id: id };
  if (toText(data) === undefined) refuse(`${path}.file`, 'A file part needs file_data or file_id.');
  return { type: 'input_file', file_data: data, ...(toText(filename) === undefined ? {} : { filename }) };
};

const TEXT_PARTS: PartReaders = { text: textAs('input_text') };
const USER_PARTS: PartReaders = { ...TEXT_PARTS, image_url: image, file };
const ASSISTANT_PARTS: PartReaders = { text: textAs('output_text'), refusal };

/** Without empty texts, which say nothing. */
function toParts(content: unknown, readers: PartReaders, path: string): JsonObject[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return toParts([{ type: 'text', text: content }], readers, path);
  if (!Array.isArray(content)) refuse(path, 'Content is a string or an array of parts.');
  return content.map((part: unknown, i) => {
    const at = `${path}[${i}]`;
    if (!isObject(part) || typeof part.type !== 'string') refuse(at, 'A content part needs a type.');
    const reader = Object.hasOwn(readers, part.type) ? readers[part.type] : undefined;
    if (reader === undefined) refuse(at, `Responses takes no part of type ${part.type.slice(0, 40)} here.`);
    return reader(part, at);
  });
}
