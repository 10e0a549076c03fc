import type {
  AssistantMessage,
  CompletionUsage,
  FinishReason,
  TokenUsage,
  ToolCall,
} from '@sluice/shared/chat';
import { writeExactly } from '@sluice/shared/json/exact';
import { hasError, statusIn } from '../error-in-answer.js';
import { isObject, type JsonObject, toText, toTokenCount, toUnixSeconds } from '../json.js';
import { FailedResponse, type ParsedResponse, UnusableResponse } from '../types.js';

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

export function parseResponse(body: unknown, now: number = Date.now()): ParsedResponse {
  if (isObject(body) && hasError(body.error))
    throw new FailedResponse(statusIn(body.error) ?? 200, body.error);
  if (!isObject(body) || body.type !== 'message' || body.role !== 'assistant') {
    throw new UnusableResponse('the body is not an assistant message');
  }
  if (!Array.isArray(body.content) || !body.content.every(isObject)) {
    throw new UnusableResponse('the message has no content blocks');
  }
  const stopReason = toText(body.stop_reason);
  if (stopReason === undefined) throw new UnusableResponse('the message has no stop_reason');
  const rawUsage = isObject(body.usage) ? body.usage : {};
  const usage = toTokenUsage(rawUsage);
  const response: ParsedResponse = {
    completion: {
      object: 'chat.completion',
      created: toUnixSeconds(now),
      choices: [
        {
          index: 0,
          message: toMessage(body.content, body.stop_details),
          finish_reason: (Object.hasOwn(FINISH_REASONS, stopReason) && FINISH_REASONS[stopReason]) || 'stop',
          logprobs: null,
        },
      ],
      usage: toCompletionUsage(usage, rawUsage),
    },
    usage,
  };
  const serviceTier = toText(rawUsage.service_tier);
  if (serviceTier !== undefined) response.serviceTier = serviceTier;
  return response;
}

/** Blocks are told apart by type, not by place: a thinking block may come first. */
function toMessage(blocks: JsonObject[], stopDetails: unknown): AssistantMessage {
  const text = blocks.filter((block) => block.type === 'text').map(readText);
  const toolCalls = blocks.filter((block) => block.type === 'tool_use').map(toToolCall);
  const message: AssistantMessage = {
    role: 'assistant',
    content: text.length === 0 && toolCalls.length > 0 ? null : text.join(''),
    refusal: (isObject(stopDetails) && toText(stopDetails.explanation)) || null,
  };
  if (toolCalls.length > 0) message.tool_calls = toolCalls;
  const thoughts = blocks.flatMap(toThought);
  if (thoughts.length > 0) {
    message.reasoning_content = thoughts.map(({ thinking = '' }) => thinking).join('');
    message.thinking_blocks = thoughts;
  }
  return message;
}

/** As the model wants it back in the next request: its signature covers every character. */
function toThought(block: JsonObject): { type: string; thinking?: string }[] {
  if (block.type === 'thinking') {
    const { thinking, signature } = block;
    if (typeof thinking !== 'string') throw new UnusableResponse('a thinking block has no text');
    return [{ type: 'thinking', thinking, ...(typeof signature === 'string' ? { signature } : {}) }];
  }
  if (block.type !== 'redacted_thinking' || typeof block.data !== 'string') return [];
  const redacted = { type: 'redacted_thinking', data: block.data };
  return [redacted];
}

function readText(block: JsonObject): string {
  if (typeof block.text !== 'string') throw new UnusableResponse('a text block has no text');
  return block.text;
}

function toToolCall(block: JsonObject): ToolCall {
  const input = block.input ?? {};
  if (typeof block.id !== 'string' || typeof block.name !== 'string' || !isObject(input)) {
    throw new UnusableResponse('a tool_use block has no id, name or input');
  }
  return {
    id: block.id,
    type: 'function',
    function: { name: block.name, arguments: toJson(input) },
  };
}

/** What nests deeper than the stack reaches can be parsed, but not written again. */
function toJson(input: JsonObject): string {
  try {
    return writeExactly(input);
  } catch {
    throw new UnusableResponse('a tool_use block cannot be written as JSON');
  }
}

/** Anthropic's input_tokens exclude what was read from the cache and what was written to it. */
function toTokenUsage(usage: JsonObject): TokenUsage {
  const writes = isObject(usage.cache_creation) ? usage.cache_creation : {};
  const longWrites = toTokenCount(writes.ephemeral_1h_input_tokens);
  const allWrites =
    toTokenCount(usage.cache_creation_input_tokens) ||
    longWrites + toTokenCount(writes.ephemeral_5m_input_tokens);
  const cacheWrite1h = Math.min(longWrites, allWrites);
  return {
    input: toTokenCount(usage.input_tokens),
    cachedInput: toTokenCount(usage.cache_read_input_tokens),
    cacheWrite: allWrites - cacheWrite1h,
    cacheWrite1h,
    output: toTokenCount(usage.output_tokens),
  };
}

function toCompletionUsage(usage: TokenUsage, raw: JsonObject): CompletionUsage {
  const cacheWrites = usage.cacheWrite + usage.cacheWrite1h;
  const prompt = usage.input + usage.cachedInput + cacheWrites;
  const details = isObject(raw.output_tokens_details) ? raw.output_tokens_details : {};
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cachedInput, cache_write_tokens: cacheWrites },
    completion_tokens_details: { reasoning_tokens: toTokenCount(details.thinking_tokens) },
  };
}
