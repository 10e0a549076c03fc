import { ANTHROPIC_DEFAULT_MAX_TOKENS, type ChatRequest } from '@sluice/shared/chat';
import type { ChainEntry } from '@sluice/shared/queue/job';
import { REFUSED_FIELDS } from '@sluice/shared/registry/anthropic-fields';
import { type JsonObject, toText } from '../json.js';
import { refuse } from '../refuse.js';
import type { Block } from './content.js';
import { Grammar } from './grammar.js';
import { toConversation } from './messages.js';
import { type AnswerFormat, toAnswerFormat, toOutputConfig } from './output-config.js';
import { toTools } from './tools.js';

export function buildRequest(request: ChatRequest, entry: ChainEntry): JsonObject {
  refuseFields(request);
  const { system, messages } = toConversation(request.messages);
  const model = familiarName(entry.model);
  const grammar = new Grammar(model);
  const answer = toAnswerFormat(request.response_format, grammar);
  return {
    model: entry.model,
    max_tokens: toMaxTokens(request, entry),
    ...toSystem(system, answer),
    messages,
    ...toTemperature(request.temperature ?? null),
    ...pick(request, ['top_p', 'thinking']),
    ...toStopSequences(request.stop ?? []),
    ...toTools(request, grammar),
    ...toOutputConfig(model, answer, request.reasoning_effort),
    ...toMetadata(request),
    ...toServiceTier(request.service_tier),
  };
}

/** Bedrock says region and maker before a model, which is the same one: `eu.anthropic.claude-opus-4-6-v1:0`. */
function familiarName(model: string): string {
  return model.replace(/^(?:[a-z-]+\.)?anthropic\./, '').replace(/-v\d+(?::\d+)?$/, '');
}

function refuseFields(request: ChatRequest): void {
  for (const [field, { refuses, reason }] of Object.entries(REFUSED_FIELDS)) {
    const value = request[field] ?? null;
    if (value !== null && refuses(value)) refuse(field, `${field} cannot be served by Anthropic: ${reason}.`);
  }
}

/** `max_completion_tokens` is the newer name, and wins. */
function toMaxTokens(request: ChatRequest, entry: ChainEntry): number {
  const asked = request.max_completion_tokens ?? request.max_tokens ?? null;
  if (asked === null) return entry.max_tokens ?? ANTHROPIC_DEFAULT_MAX_TOKENS;
  return Math.min(asked, entry.max_tokens ?? asked);
}

/** One text, unless the caller marks parts of it to be cached. */
function toSystem(system: readonly Block[], { instruction = '' }: AnswerFormat): JsonObject {
  if (system.some((block) => block.cache_control !== undefined)) {
    const last: Block[] = instruction === '' ? [] : [{ type: 'text', text: instruction }];
    return { system: [...system, ...last] };
  }
  const text = [...system.map((block) => block.text), instruction].filter((part) => part !== '').join('\n');
  return text === '' ? {} : { system: text };
}

/** The scale of OpenAI goes to 2. Half of a value, or 1 for all above it, would be another request than the caller's. */
function toTemperature(temperature: unknown): JsonObject {
  if (temperature === null) return {};
  if (typeof temperature === 'number' && temperature > 1)
    refuse('temperature', 'temperature above 1 cannot be served by Anthropic: it ends there.');
  return { temperature };
}

function toStopSequences(stop: string | string[]): JsonObject {
  const sequences = typeof stop === 'string' ? [stop] : stop;
  for (const [index, sequence] of sequences.entries()) {
    if (typeof sequence !== 'string' || sequence.trim() === '') {
      refuse(
        typeof stop === 'string' ? 'stop' : `stop[${index}]`,
        'Anthropic takes no stop sequence that is empty or only whitespace.',
      );
    }
  }
  return sequences.length === 0 ? {} : { stop_sequences: [...sequences] };
}

function toMetadata(request: ChatRequest): JsonObject {
  const userId = toText(request.safety_identifier) ?? toText(request.user);
  return userId === undefined ? {} : { metadata: { user_id: userId } };
}

/** The other tiers of OpenAI have no counterpart; the response names the one that served. */
function toServiceTier(tier: unknown): JsonObject {
  if (tier === 'auto') return { service_tier: 'auto' };
  return tier === 'default' ? { service_tier: 'standard_only' } : {};
}

function pick(request: ChatRequest, fields: readonly string[]): JsonObject {
  return Object.fromEntries(
    fields.filter((field) => (request[field] ?? null) !== null).map((field) => [field, request[field]]),
  );
}
