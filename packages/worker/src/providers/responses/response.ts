import type { AssistantMessage, CompletionUsage, TokenUsage, ToolCall } from '@sluice/shared/chat';
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

/** The errors of an answer that began well, as the status that they would have had at once. */
const STATUS_OF: Readonly<Record<string, number>> = { rate_limit_exceeded: 429, server_error: 500 };

export function parseResponse(body: unknown, now: number = Date.now()): ParsedResponse {
  if (!isObject(body)) throw new UnusableResponse('the body is not an object');
  const usage = isObject(body.usage) ? body.usage : {};
  const billed = toBilled(body, usage);
  if (body.status === 'failed' || hasError(body.error)) {
    const { error } = body;
    const code = isObject(error) ? (toText(error.code) ?? '') : '';
    const known = Object.hasOwn(STATUS_OF, code) ? STATUS_OF[code] : undefined;
    const status = statusIn(error) ?? known ?? (body.status === 'failed' ? 400 : 200);
    throw new FailedResponse(status, error, isObject(body.usage) ? billed : undefined);
  }
  if (body.status !== 'completed' && body.status !== 'incomplete')
    throw new UnusableResponse('the answer is neither complete nor cut');
  if (!Array.isArray(body.output)) throw new UnusableResponse('the body has no output');
  const items = body.output.filter(isObject);
  const parts = items.filter(({ type }) => type === 'message').flatMap(partsOf);
  const calls = items.filter(({ type }) => type === 'function_call').map(toToolCall);
  const cut = body.status === 'incomplete' ? cutBy(body.incomplete_details) : undefined;
  const tier = toText(body.service_tier);
  return {
    completion: {
      object: 'chat.completion',
      created: toNaturalNumber(body.created_at) || toUnixSeconds(now),
      choices: [
        {
          index: 0,
          message: toMessage(parts, calls, items, cut),
          logprobs: toLogprobs(parts),
          finish_reason: cut ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
        },
      ],
      usage: toCompletionUsage(usage, billed.usage),
      ...(tier === undefined ? {} : { service_tier: tier }),
    },
    ...billed,
  };
}

function cutBy(details: unknown): string {
  return isObject(details) && details.reason === 'content_filter' ? 'content_filter' : 'length';
}

function partsOf({ content }: JsonObject): JsonObject[] {
  if (!Array.isArray(content)) throw new UnusableResponse('a message has no content');
  return content.filter(isObject);
}

/** Several messages are one answer, in their order. */
function toMessage(
  parts: readonly JsonObject[],
  calls: ToolCall[],
  items: readonly JsonObject[],
  cut: string | undefined,
): AssistantMessage {
  const texts = parts.filter(({ type }) => type === 'output_text').map((part) => textIn(part, 'text'));
  const refusals = parts.filter(({ type }) => type === 'refusal').map((part) => textIn(part, 'refusal'));
  const saysMore = calls.length > 0 || refusals.length > 0;
  if (texts.length === 0 && !saysMore && cut === undefined)
    throw new UnusableResponse('the output has neither text nor calls');
  const message: AssistantMessage = {
    role: 'assistant',
    content: texts.length === 0 && saysMore ? null : texts.join(''),
    refusal: refusals.length === 0 ? null : refusals.join(''),
  };
  if (calls.length > 0) message.tool_calls = calls;
  const thoughts = items.filter(({ type }) => type === 'reasoning').flatMap(thoughtsIn);
  if (thoughts.length > 0) message.reasoning_content = thoughts.join('\n\n');
  return message;
}

/** Summaries, where the caller asked for them, or the thoughts of an open model. */
function thoughtsIn({ summary, content }: JsonObject): string[] {
  const textsIn = (list: unknown) =>
    Array.isArray(list) ? list.flatMap((part) => (isObject(part) ? (toText(part.text) ?? []) : [])) : [];
  const summaries = textsIn(summary);
  return summaries.length > 0 ? summaries : textsIn(content);
}

function textIn(part: JsonObject, field: string): string {
  const text = part[field];
  if (typeof text !== 'string') throw new UnusableResponse('a part of a message has no text');
  return text;
}

function toToolCall({ call_id: id, name, arguments: text }: JsonObject): ToolCall {
  if (typeof id !== 'string' || typeof name !== 'string' || typeof text !== 'string')
    throw new UnusableResponse('a function call has no id, name or arguments');
  return { id, type: 'function', function: { name, arguments: text } };
}

function toLogprobs(parts: readonly JsonObject[]): JsonObject | null {
  const content = parts.flatMap(({ logprobs }): unknown[] => (Array.isArray(logprobs) ? logprobs : []));
  return content.length === 0 ? null : { content, refusal: null };
}

/** The input includes what was read from the cache and what was written to it. */
function toBilled(body: JsonObject, usage: JsonObject): Billed {
  const details = isObject(usage.input_tokens_details) ? usage.input_tokens_details : {};
  const prompt = toTokenCount(usage.input_tokens);
  const cachedInput = Math.min(toTokenCount(details.cached_tokens), prompt);
  const cacheWrite = Math.min(toTokenCount(details.cache_write_tokens), prompt - cachedInput);
  const tokens: TokenUsage = {
    input: prompt - cachedInput - cacheWrite,
    cachedInput,
    cacheWrite,
    cacheWrite1h: 0,
    output: toTokenCount(usage.output_tokens),
  };
  const serviceTier = toText(body.service_tier);
  const reportedUsd = toReportedUsd(usage);
  return {
    usage: tokens,
    ...(serviceTier === undefined ? {} : { serviceTier }),
    ...(reportedUsd === undefined ? {} : { reportedUsd }),
  };
}

function toCompletionUsage(raw: JsonObject, usage: TokenUsage): CompletionUsage {
  const details = isObject(raw.output_tokens_details) ? raw.output_tokens_details : {};
  const prompt = usage.input + usage.cachedInput + usage.cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cachedInput, cache_write_tokens: usage.cacheWrite },
    completion_tokens_details: { reasoning_tokens: toTokenCount(details.reasoning_tokens) },
  };
}
