import type { AssistantMessage, Choice, CompletionUsage, TokenUsage, ToolCall } from '@sluice/shared/chat';
import { toPlainNumber } from '@sluice/shared/json/exact';
import { isObject, type JsonObject, toNaturalNumber, toText, toTokenCount, toUnixSeconds } from '../json.js';
import { type ParsedResponse, UnusableResponse } from '../types.js';

export function parseResponse(body: unknown, now: number = Date.now()): ParsedResponse {
  if (!isObject(body)) throw new UnusableResponse('the body is not an object');
  if (!Array.isArray(body.choices) || body.choices.length === 0) {
    throw new UnusableResponse('the body has no choices');
  }
  const { id: _id, model: _model, ...rest } = body;
  const rawUsage = isObject(body.usage) ? body.usage : {};
  const response: ParsedResponse = {
    completion: {
      ...rest,
      object: 'chat.completion',
      created: toNaturalNumber(body.created) || toUnixSeconds(now),
      choices: body.choices.map(toChoice),
      usage: toCompletionUsage(rawUsage),
    },
    usage: toTokenUsage(rawUsage),
  };
  const serviceTier = toText(body.service_tier);
  if (serviceTier !== undefined) response.serviceTier = serviceTier;
  if (hasAudio(rawUsage)) response.hasAudio = true;
  return response;
}

function toChoice(choice: unknown, position: number): Choice {
  if (!isObject(choice)) throw new UnusableResponse('a choice is not an object');
  if (typeof choice.finish_reason !== 'string') throw new UnusableResponse('a choice has no finish_reason');
  const index = toPlainNumber(choice.index);
  return {
    ...choice,
    index: typeof index === 'number' ? index : position,
    message: toMessage(choice.message),
    finish_reason: choice.finish_reason,
  };
}

/** Any of these is an answer, even without `content`. Reasoning has a name at DeepSeek and one at OpenRouter. */
const BESIDE_CONTENT = ['reasoning_content', 'reasoning', 'refusal'];

function toMessage(message: unknown): AssistantMessage {
  if (!isObject(message) || message.role !== 'assistant') {
    throw new UnusableResponse('a choice has no assistant message');
  }
  // Compatible servers send `tool_calls: null`, and leave `content` out beside what else there is.
  const { tool_calls: rawCalls, content: rawContent, refusal, ...rest } = message;
  const toolCalls = toToolCalls(rawCalls ?? []);
  const saysMore = toolCalls.length > 0 || BESIDE_CONTENT.some((field) => typeof message[field] === 'string');
  const content = rawContent === undefined && saysMore ? null : rawContent;
  if (typeof content !== 'string' && content !== null) throw new UnusableResponse('a message has no content');
  const result: AssistantMessage = { role: 'assistant', content, ...rest };
  if (typeof refusal === 'string' || refusal === null) result.refusal = refusal;
  if (Array.isArray(rawCalls)) result.tool_calls = toolCalls;
  return result;
}

function toToolCalls(calls: unknown): ToolCall[] {
  if (!Array.isArray(calls) || !calls.every(isToolCall))
    throw new UnusableResponse('a tool call is malformed');
  return calls;
}

/** A custom tool's call has no `function`; it passes as it came. */
function isToolCall(call: unknown): call is ToolCall {
  if (!isObject(call) || typeof call.id !== 'string') return false;
  if (call.function === undefined) return call.type === 'custom';
  return (
    isObject(call.function) &&
    typeof call.function.name === 'string' &&
    typeof call.function.arguments === 'string'
  );
}

/** A compatible server may send no usage: the call then counts nothing. */
function toCompletionUsage(usage: JsonObject): CompletionUsage {
  const prompt = toTokenCount(usage.prompt_tokens);
  const completion = toTokenCount(usage.completion_tokens);
  return {
    ...usage,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: toTokenCount(usage.total_tokens) || prompt + completion,
  };
}

function hasAudio(usage: JsonObject): boolean {
  return [usage.prompt_tokens_details, usage.completion_tokens_details].some(
    (details) => isObject(details) && toTokenCount(details.audio_tokens) > 0,
  );
}

/** OpenAI's prompt_tokens include the cached ones and those written to the cache. */
function toTokenUsage(usage: JsonObject): TokenUsage {
  const details = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const prompt = toTokenCount(usage.prompt_tokens);
  const cachedInput = Math.min(toTokenCount(details.cached_tokens), prompt);
  const cacheWrite = Math.min(toTokenCount(details.cache_write_tokens), prompt - cachedInput);
  return {
    input: prompt - cachedInput - cacheWrite,
    cachedInput,
    cacheWrite,
    cacheWrite1h: 0,
    output: toTokenCount(usage.completion_tokens),
  };
}
