import {
  checkBoolean,
  checkFields,
  checkList,
  checkNoExtras,
  checkOneOf,
  checkString,
  checkTag,
  refuse,
} from './anthropic-refusals.js';
import { type Fields, IMAGE_TYPES, isBase64 } from './dialect.js';

export type Block = Fields & { type: string };

const ID = /^[a-zA-Z0-9_-]+$/;

const BLOCK_FIELDS: Record<string, ReadonlySet<string>> = {
  text: new Set(['type', 'text', 'cache_control', 'citations']),
  image: new Set(['type', 'source', 'cache_control']),
  document: new Set(['type', 'source', 'cache_control', 'title', 'context', 'citations']),
  tool_use: new Set(['type', 'id', 'name', 'input', 'cache_control', 'caller']),
  tool_result: new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control']),
  thinking: new Set(['type', 'thinking', 'signature']),
  redacted_thinking: new Set(['type', 'data']),
};
const BLOCK_TYPES = Object.keys(BLOCK_FIELDS);

/** A string counts as one text block. */
export function checkContent(content: unknown, at: string): Block[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  checkList(content, at);
  return content.map((block, i) => checkBlock(block, `${at}.${i}`, BLOCK_TYPES));
}

export function checkBlock(block: unknown, at: string, types: readonly string[]): Block {
  checkTag(block, at, types);
  const inner = `${at}.${block.type}`;
  checkNoExtras(block, BLOCK_FIELDS[block.type] ?? new Set(), `${inner}.`);
  if (block.cache_control !== undefined && block.cache_control !== null) {
    checkTag(block.cache_control, `${inner}.cache_control`, ['ephemeral']);
    if (block.cache_control.ttl !== undefined) {
      checkOneOf(block.cache_control.ttl, `${inner}.cache_control.ephemeral.ttl`, ['5m', '1h']);
    }
  }
  switch (block.type) {
    case 'text':
      checkString(block.text, `${inner}.text`);
      break;
    case 'image':
      checkImageSource(block.source, `${inner}.source`);
      break;
    case 'document':
      checkFields(block.source, `${inner}.source`);
      break;
    case 'tool_use':
      checkId(block.id, `${inner}.id`);
      checkString(block.name, `${inner}.name`);
      checkFields(block.input, `${inner}.input`);
      break;
    case 'tool_result':
      checkId(block.tool_use_id, `${inner}.tool_use_id`);
      checkBoolean(block.is_error, `${inner}.is_error`);
      if (block.content !== undefined)
        checkNonEmptyText(checkContent(block.content, `${inner}.content`), inner);
      break;
  }
  return block;
}

export function checkNonEmptyText(blocks: readonly Block[], at: string): void {
  for (const { type, text } of blocks) {
    if (type !== 'text' || typeof text !== 'string') continue;
    if (text === '') throw refuse(`${at}: text content blocks must be non-empty`);
    if (text.trim() === '') throw refuse(`${at}: text content blocks must contain non-whitespace text`);
  }
}

function checkImageSource(source: unknown, at: string): void {
  checkTag(source, at, ['base64', 'url', 'file']);
  const inner = `${at}.${source.type}`;
  if (source.type === 'url') {
    checkString(source.url, `${inner}.url`);
    if (!/^https?:\/\/[^\s/]/i.test(source.url)) throw refuse(`${inner}.url: Only HTTPS URLs are supported.`);
  }
  if (source.type === 'base64') {
    checkOneOf(source.media_type, `${inner}.media_type`, [...IMAGE_TYPES]);
    checkString(source.data, `${inner}.data`);
    if (!isBase64(source.data)) throw refuse(`${inner}: invalid base64 data`);
  }
}

function checkId(value: unknown, at: string): void {
  checkString(value, at);
  if (!ID.test(value)) throw refuse(`${at}: String should match pattern '${ID.source}'`);
}
