import { type Block, checkContent, checkNonEmptyText } from './anthropic-content.js';
import { checkFields, checkList, checkNoExtras, checkOneOf, refuse } from './anthropic-refusals.js';

/** Consecutive messages of one role are one. */
interface MergedMessage {
  role: string;
  /** Index of its first message, for error texts. */
  index: number;
  blocks: Block[];
}

const FIELDS = new Set(['role', 'content']);

export function checkMessages(messages: unknown): void {
  checkList(messages, 'messages');
  if (messages.length === 0) throw refuse('messages: at least one message is required');
  const merged: MergedMessage[] = [];
  for (const [i, message] of messages.entries()) {
    const at = `messages.${i}`;
    checkFields(message, at);
    if (message.role === 'system') {
      const text =
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.';
      throw refuse(text);
    }
    checkOneOf(message.role, `${at}.role`, ['user', 'assistant']);
    checkNoExtras(message, FIELDS, `${at}.`);
    const blocks = checkContent(message.content, `${at}.content`);
    checkBlocks(blocks, message.role, i, i === messages.length - 1);
    const last = merged.at(-1);
    if (last?.role === message.role) last.blocks.push(...blocks);
    else merged.push({ role: message.role, index: i, blocks: [...blocks] });
  }
  if (merged[0]?.role !== 'user') throw refuse('messages: first message must use the "user" role');
  checkToolPairs(merged);
  checkEnding(merged.at(-1));
}

function checkBlocks(blocks: readonly Block[], role: string, i: number, final: boolean): void {
  if (blocks.length === 0) {
    if (role === 'user') throw refuse(`messages.${i}: user messages must have non-empty content`);
    if (!final) {
      throw refuse(
        `messages.${i}: all messages must have non-empty content except for the optional final assistant message`,
      );
    }
  }
  checkNonEmptyText(blocks, 'messages');
  for (const { type } of blocks) {
    if (role === 'user' && (type === 'tool_use' || type.endsWith('thinking'))) {
      throw refuse(`messages.${i}: \`${type}\` blocks can only be in \`assistant\` messages`);
    }
    if (role === 'assistant' && (type === 'tool_result' || type === 'image')) {
      throw refuse(`messages.${i}: \`${type}\` blocks can only be in \`user\` messages`);
    }
  }
}

function checkToolPairs(merged: readonly MergedMessage[]): void {
  const seen = new Set<unknown>();
  let open = new Set<unknown>();
  let openIndex = 0;
  for (const { role, index, blocks } of merged) {
    if (role === 'user') checkResults(blocks, index, open, openIndex);
    open = new Set();
    openIndex = index;
    for (const { type, id } of blocks) {
      if (type !== 'tool_use') continue;
      if (seen.has(id)) throw refuse('messages: `tool_use` ids must be unique');
      seen.add(id);
      open.add(id);
    }
  }
  if (open.size > 0) throw unanswered(open, openIndex);
}

/** Results come first in the message; whatever follows other content counts as missing. */
function checkResults(blocks: readonly Block[], index: number, open: Set<unknown>, openIndex: number): void {
  let leading = true;
  for (const [i, { type, tool_use_id: id }] of blocks.entries()) {
    if (type !== 'tool_result') {
      leading = false;
      continue;
    }
    if (!open.has(id)) {
      const text = `messages.${index}.content.${i}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(id)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
      throw refuse(text);
    }
    if (leading) open.delete(id);
  }
  if (open.size > 0) throw unanswered(open, openIndex);
}

function unanswered(ids: ReadonlySet<unknown>, index: number) {
  const list = [...ids].join(', ');
  return refuse(
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${list}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  );
}

function checkEnding(final: MergedMessage | undefined): void {
  const last = final?.role === 'assistant' ? final.blocks.at(-1) : undefined;
  if (last?.type === 'text' && /\s$/.test(String(last.text))) {
    throw refuse('messages: final assistant content cannot end with trailing whitespace');
  }
}
