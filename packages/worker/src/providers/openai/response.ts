import type { AssistantMessage, Choice, CompletionUsage, TokenUsage, ToolCall } from '@sluice/shared/chat';
import { toPlainNumber } from '@sluice/shared/json/exact';
import { hasError, statusIn } from '../error-in-answer.js';
import {
  isObject,
  type JsonObject,
  toNaturalNumber,
  toReportedUsd,
  toText,
  toTokenCount,
  toUnixSeconds,
} from '../json.js';
import { type Billed, FailedResponse, type ParsedResponse, UnusableResponse } from '../types.js';

export function parseResponse(body: unknown, now: number = Date.now()): ParsedResponse {
  if (!isObject(body)) throw new UnusableResponse('the body is not an object');
  throwIfFailed(body);
  if (!Array.isArray(body.choices) || body.choices.length === 0) {
    throw new UnusableResponse('the body has no choices');
  }
  const { id: _id, model: _model, ...rest } = body;
  return {
    completion: {
      ...rest,
      object: 'chat.completion',
      created: toNaturalNumber(body.created) || toUnixSeconds(now),
      choices: body.choices.map(toChoice),
      usage: toCompletionUsage(isObject(body.usage) ? body.usage : {}),
    },
    ...toBilled(body),
  };
}

function toBilled({ usage, service_tier: tier }: JsonObject): Billed {
  const rawUsage = isObject(usage) ? usage : {};
  const billed: Billed = { usage: toTokenUsage(rawUsage) };
  const serviceTier = toText(tier);
  if (serviceTier !== undefined) billed.serviceTier = serviceTier;
  if (hasAudio(rawUsage)) billed.hasAudio = true;
  const reportedUsd = toReportedUsd(rawUsage);
  if (reportedUsd !== undefined) billed.reportedUsd = reportedUsd;
  return billed;
}

/** OpenRouter puts an error that came after its 200 into the body, or into the choice that failed. */
function throwIfFailed(body: JsonObject): void {
  const choices: unknown[] = Array.isArray(body.choices) ? body.choices : [];
  const failed = choices.find(
    (choice) => isObject(choice) && (choice.finish_reason === 'error' || hasError(choice.error)),
  );
  const error = isObject(failed) && hasError(failed.error) ? failed.error : body.error;
  if (failed === undefined && !hasError(error)) return;
  const status = statusIn(error) ?? (failed === undefined ? 200 : 502);
  throw new FailedResponse(status, error, choices.length === 0 ? undefined : toBilled(body));
}

function toChoice(choice: unknown, position: number): Choice {
  if (!isObject(choice)) throw new UnusableResponse('a choice is not an object');
  if (typeof choice.finish_reason !== 'string') throw new UnusableResponse('a choice has no finish_reason');
  const index = toPlainNumber(choice.index);
  return {
    ...choice,
    index: typeof index === 'number' ? index : position,
    message: toMessage(choice.message, choice.finish_reason),
    finish_reason: choice.finish_reason,
  };
}

/** Any of these is an answer, even without `content`. Reasoning has a name at DeepSeek and one at OpenRouter. */
const BESIDE_CONTENT = ['reasoning_content', 'reasoning', 'refusal'];
/** An answer that ended so may have no word. */
const MAY_BE_EMPTY: ReadonlySet<string> = new Set(['length', 'content_filter']);

function toMessage(message: unknown, finishReason: string): AssistantMessage {
  if (!isObject(message) || message.role !== 'assistant') {
    throw new UnusableResponse('a choice has no assistant message');
  }
  // Compatible servers send `tool_calls: null`, and leave `content` out beside what else there is.
  const joined = joinParts(message);
  const { tool_calls: rawCalls, content: rawContent, refusal, ...rest } = joined;
  const toolCalls = toToolCalls(rawCalls ?? []);
  const saysMore = toolCalls.length > 0 || BESIDE_CONTENT.some((field) => typeof joined[field] === 'string');
  const content = rawContent === undefined ? contentInstead(saysMore, finishReason) : rawContent;
  if (typeof content !== 'string' && content !== null) throw new UnusableResponse('a message has no content');
  const result: AssistantMessage = { role: 'assistant', content, ...rest };
  if (typeof refusal === 'string' || refusal === null) result.refusal = refusal;
  if (Array.isArray(rawCalls)) result.tool_calls = toolCalls;
  return result;
}

function contentInstead(saysMore: boolean, finishReason: string): string | null | undefined {
  if (saysMore) return null;
  return MAY_BE_EMPTY.has(finishReason) ? '' : undefined;
}

/** Mistral's reasoning models send `content` in parts: thoughts, which are lists of text themselves, and text. */
function joinParts(message: JsonObject): JsonObject {
  if (!Array.isArray(message.content)) return message;
  const { content: _, ...joined } = message;
  const parts = message.content.filter(isObject);
  const texts = parts.filter(({ type }) => type === 'text').map(({ text }) => text);
  const thoughts = parts
    .filter(({ type }) => type === 'thinking')
    .flatMap(({ thinking }) => (Array.isArray(thinking) ? thinking : [{ text: thinking }]))
    .flatMap((thought) => (isObject(thought) ? (toText(thought.text) ?? []) : []));
  if (!texts.every((text) => typeof text === 'string')) throw new UnusableResponse('a part has no text');
  if (texts.length > 0) joined.content = texts.join('');
  if (thoughts.length > 0) joined.reasoning_content = thoughts.join('');
  return joined;
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

/**
 * OpenAI's prompt_tokens include the cached ones and those written to the cache. The cached ones have another place at DeepSeek
 * and one at Moonshot.
 */
function toTokenUsage(usage: JsonObject): TokenUsage {
  const details = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const prompt = toTokenCount(usage.prompt_tokens);
  const cached = details.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens;
  const cachedInput = Math.min(toTokenCount(cached), prompt);
  const cacheWrite = Math.min(toTokenCount(details.cache_write_tokens), prompt - cachedInput);
  return {
    input: prompt - cachedInput - cacheWrite,
    cachedInput,
    cacheWrite,
    cacheWrite1h: 0,
    output: toTokenCount(usage.completion_tokens),
  };
}
