import type { ChatMessage } from '@sluice/shared/chat';
import { parseExactly } from '@sluice/shared/json/exact';
import { isObject } from '../json.js';
import { refuse } from '../refuse.js';
import { ASSISTANT_PARTS, type Block, marked, TEXT_PARTS, toBlocks, USER_PARTS } from './content.js';
import { ToolIds } from './tool-ids.js';

/** Roles alternate: consecutive messages of one role are one. */
export interface MergedMessage {
  role: 'user' | 'assistant';
  content: Block[];
}

export interface Conversation {
  /** Text blocks. */
  system: Block[];
  messages: MergedMessage[];
}

/**
 * Leading system messages become `system`. A later one stays where it stands, as user text: moved to the front it
 * would speak about messages that have not happened yet.
 */
export function toConversation(messages: readonly ChatMessage[]): Conversation {
  const first = messages.findIndex((message) => !isSystem(message));
  const leading = first < 0 ? messages.length : first;
  const system = messages
    .slice(0, leading)
    .flatMap((message, index) => markLast(toSystemBlocks(message, index), message));
  const merged: MergedMessage[] = [];
  const ids = new ToolIds();
  for (const [offset, message] of messages.slice(leading).entries()) {
    addBlocks(merged, roleOf(message), markLast(toMessageBlocks(message, leading + offset, ids), message));
  }
  // Anthropic needs a message to answer: a conversation of instructions only is put to it as one.
  if (merged.length === 0) {
    if (system.length === 0) refuse('messages', 'Anthropic needs at least one message that is not empty.');
    return { system: [], messages: [{ role: 'user', content: system }] };
  }
  return { system, messages: merged.map(putResultsFirst) };
}

/** A message whose content is a text has its mark beside it. */
function markLast(blocks: Block[], message: ChatMessage): Block[] {
  const last = blocks.at(-1);
  if (!last || last.cache_control !== undefined || (message.cache_control ?? null) === null) return blocks;
  return [...blocks.slice(0, -1), marked(last, message) ?? last];
}

function isSystem(message: ChatMessage): boolean {
  return message.role === 'system' || message.role === 'developer';
}

function roleOf(message: ChatMessage): MergedMessage['role'] {
  return message.role === 'assistant' ? 'assistant' : 'user';
}

function addBlocks(merged: MergedMessage[], role: MergedMessage['role'], blocks: Block[]): void {
  if (blocks.length === 0) return;
  const last = merged.at(-1);
  if (last?.role !== role) merged.push({ role, content: blocks });
  else for (const block of blocks) last.content.push(block);
}

/** Anthropic wants the results of a tool call before anything else in the message that follows it. */
function putResultsFirst({ role, content }: MergedMessage): MergedMessage {
  const isResult = (block: Block) => block.type === 'tool_result';
  const others = content.filter((block) => !isResult(block));
  return { role, content: [...content.filter(isResult), ...others] };
}

function toMessageBlocks(message: ChatMessage, index: number, ids: ToolIds): Block[] {
  const path = `messages[${index}]`;
  switch (message.role) {
    case 'system':
    case 'developer':
      return toSystemBlocks(message, index);
    case 'user':
      return toBlocks(message.content, USER_PARTS, `${path}.content`);
    case 'assistant':
      return toAssistantBlocks(message, path, ids);
    case 'tool':
      return [toToolResult(message, path, ids)];
    case 'function':
      return refuse(
        `${path}.role`,
        'Anthropic has no counterpart of the role function; tools and the role tool replace it.',
      );
    default:
      return refuse(`${path}.role`, 'Anthropic does not know this role.');
  }
}

function toSystemBlocks(message: ChatMessage, index: number): Block[] {
  return toBlocks(message.content, TEXT_PARTS, `messages[${index}].content`);
}

function toAssistantBlocks(message: ChatMessage, path: string, ids: ToolIds): Block[] {
  for (const field of ['function_call', 'audio'] as const) {
    if ((message[field] ?? null) !== null)
      refuse(`${path}.${field}`, `Anthropic has no counterpart of ${field}.`);
  }
  const thoughts = toThinkingBlocks(message.thinking_blocks ?? [], `${path}.thinking_blocks`);
  const blocks = toBlocks(message.content, ASSISTANT_PARTS, `${path}.content`);
  if (blocks.length === 0) blocks.push(...toBlocks(message.refusal, ASSISTANT_PARTS, `${path}.refusal`));
  const calls: unknown = message.tool_calls ?? [];
  if (!Array.isArray(calls)) refuse(`${path}.tool_calls`, 'tool_calls is an array.');
  return [
    ...thoughts,
    ...blocks,
    ...calls.map((call, index) => toToolUse(call, `${path}.tool_calls[${index}]`, ids)),
  ];
}

/** What the model thought before an earlier answer, with its signatures. It stands before everything else of the message. */
function toThinkingBlocks(blocks: unknown, path: string): Block[] {
  if (!Array.isArray(blocks)) refuse(path, 'thinking_blocks is an array.');
  return blocks.map((block: unknown, index) => {
    if (isObject(block) && block.type === 'thinking' && typeof block.signature === 'string')
      return { type: 'thinking', thinking: String(block.thinking ?? ''), signature: block.signature };
    if (isObject(block) && block.type === 'redacted_thinking' && typeof block.data === 'string')
      return { type: 'redacted_thinking', data: block.data };
    return refuse(
      `${path}[${index}]`,
      'A thinking block comes back as the answer had it, with its signature.',
    );
  });
}

function toToolUse(call: unknown, path: string, ids: ToolIds): Block {
  const called = isObject(call) && isObject(call.function) ? call.function : undefined;
  if (!isObject(call) || typeof call.id !== 'string' || typeof called?.name !== 'string') {
    refuse(path, 'Anthropic takes function calls only, each with an id and a name.');
  }
  const input = parseArguments(called.arguments);
  if (input === undefined)
    refuse(`${path}.function.arguments`, 'The arguments are not the JSON of an object.');
  return { type: 'tool_use', id: ids.ofCall(call.id), name: called.name, input };
}

/** Models write an empty string for a call without arguments. */
function parseArguments(json: unknown): Record<string, unknown> | undefined {
  if (typeof json !== 'string') return undefined;
  if (json.trim() === '') return {};
  try {
    const value: unknown = parseExactly(json);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function toToolResult(message: ChatMessage, path: string, ids: ToolIds): Block {
  if (typeof message.tool_call_id !== 'string' || message.tool_call_id === '') {
    refuse(`${path}.tool_call_id`, 'A tool message needs the id of the call it answers.');
  }
  const content = toBlocks(message.content, USER_PARTS, `${path}.content`);
  const result: Block = { type: 'tool_result', tool_use_id: ids.ofResult(message.tool_call_id) };
  return content.length === 0 ? result : { ...result, content };
}
