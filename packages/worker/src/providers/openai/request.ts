import type { ChatRequest } from '@sluice/shared/chat';
import type { ChainEntry } from '@sluice/shared/queue/job';
import { isObject } from '../json.js';

/** Reasoning models refuse `max_tokens` and want `max_completion_tokens`. */
const WANTS_COMPLETION_LIMIT = /^(?:ft:)?(?:o\d|gpt-[5-9]|openai\.gpt-oss)/;

/** Everything passes as it came, unknown fields included, but for the model, `stream` and the entry's token limit. */
export function buildRequest(request: ChatRequest, entry: ChainEntry): Record<string, unknown> {
  return Object.assign(copyOf(request), toTokenLimit(request, entry), { model: entry.model });
}

/**
 * For a server that is not OpenAI's own: `max_tokens` is the one limit that all of them know. Many ignore
 * `max_completion_tokens`, and would then write, and bill, as much as the model can.
 */
export function buildCompatibleRequest(request: ChatRequest, entry: ChainEntry): Record<string, unknown> {
  const body = buildRequest(request, entry);
  const { max_completion_tokens: limit = null } = body;
  const isWanted =
    entry.rename?.max_tokens === 'max_completion_tokens' || WANTS_COMPLETION_LIMIT.test(entry.model);
  if (isWanted) return body;
  delete body.max_completion_tokens;
  return limit === null ? body : Object.assign(body, { max_tokens: limit });
}

/**
 * For a server that refuses fields it does not know: without what other providers put into messages and tools. A chain may
 * lead from one to the other, and the marks and thoughts mean nothing here.
 */
export function withoutForeign(body: Record<string, unknown>): Record<string, unknown> {
  const { messages, tools } = body;
  if (Array.isArray(messages)) body.messages = messages.map(cleanMessage);
  if (Array.isArray(tools)) body.tools = tools.map(cleanTool);
  delete body.thinking;
  return body;
}

const FOREIGN = ['cache_control', 'thinking_blocks', 'reasoning_content'];
const MARK = ['cache_control'];

/** Whether messages have nothing for `withoutForeign` to leave out. A name with an escaped letter may be any name. */
export function hasNoForeign(messages: Buffer): boolean {
  return ![...FOREIGN, '\\u00'].some((text) => messages.includes(text));
}

function cleanMessage(message: unknown): unknown {
  const clean = without(message, FOREIGN);
  if (!isObject(clean) || !Array.isArray(clean.content)) return clean;
  const content = clean.content.map((part: unknown) => without(part, MARK));
  return content.some((part, i) => part !== (clean.content as unknown[])[i]) ? { ...clean, content } : clean;
}

function cleanTool(tool: unknown): unknown {
  const clean = without(tool, MARK);
  if (!isObject(clean)) return clean;
  const definition = without(clean.function, MARK);
  return definition === clean.function ? clean : { ...clean, function: definition };
}

/** The value itself when it has none of the fields, which is nearly always. */
function without(value: unknown, fields: readonly string[]): unknown {
  if (!isObject(value) || !fields.some((field) => value[field] !== undefined)) return value;
  return Object.fromEntries(Object.entries(value).filter(([field]) => !fields.includes(field)));
}

function copyOf(request: ChatRequest): Record<string, unknown> {
  // Field by field: of a request with very many fields, copying by spreading takes three times as long.
  const body: Record<string, unknown> = {};
  for (const field of Object.keys(request)) if (field !== 'stream') body[field] = request[field];
  return body;
}

function toTokenLimit(request: ChatRequest, entry: ChainEntry): Partial<ChatRequest> {
  const cap = entry.max_tokens;
  if (cap === undefined) return {};
  const limit: Partial<ChatRequest> = {};
  for (const field of ['max_tokens', 'max_completion_tokens'] as const) {
    const asked = request[field] ?? null;
    if (asked !== null) limit[field] = Math.min(asked, cap);
  }
  if (Object.keys(limit).length > 0) return limit;
  return WANTS_COMPLETION_LIMIT.test(entry.model) ? { max_completion_tokens: cap } : { max_tokens: cap };
}
