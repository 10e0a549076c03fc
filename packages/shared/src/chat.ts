/** The common chat-completions format, as far as the gateway looks into it. Unknown fields travel along untouched. */

import type { Infer } from 'superstruct';
import type { chatRequest, contentPart, toolCall } from './contract/chat-request.js';
import type { embeddingRequest } from './contract/embedding-request.js';

export type ChatRequest = Infer<typeof chatRequest>;
export type EmbeddingRequest = Infer<typeof embeddingRequest>;
export type ChatMessage = ChatRequest['messages'][number];
export type ContentPart = Infer<typeof contentPart>;
export type ToolCall = Infer<typeof toolCall>;

/**
 * An embeddings request passes the same parts as a chat. They know it by its messages: it has none, and a chat has at least one.
 * What it asks for is in `input`.
 */
export function asRequest(embedding: EmbeddingRequest): ChatRequest {
  return { ...embedding, messages: [] };
}

/** A body as it was parsed, for the job that it belongs to. */
export function requestOf({ endpoint }: { endpoint?: 'embeddings' | undefined }, body: unknown): ChatRequest {
  return endpoint ? asRequest(body as EmbeddingRequest) : (body as ChatRequest);
}

export function asksForEmbeddings({ messages }: ChatRequest): boolean {
  return messages.length === 0;
}

/** Anthropic requires a limit. This one holds when neither the caller nor the entry sets one. */
export const ANTHROPIC_DEFAULT_MAX_TOKENS = 1_024;

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export interface AssistantMessage {
  role: 'assistant';
  content: string | null;
  refusal?: string | null;
  tool_calls?: ToolCall[];
  [field: string]: unknown;
}

export interface Choice {
  index: number;
  message: AssistantMessage;
  finish_reason: string;
  logprobs?: unknown;
  [field: string]: unknown;
}

/** The response body without `id` and `model`, which the gateway sets. */
export interface Completion {
  created: number;
  choices: Choice[];
  usage: CompletionUsage;
  [field: string]: unknown;
}

export interface CompletionUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  [field: string]: unknown;
}

/** The tokens that a call is billed for. No token is in two of the five counts. */
export interface TokenUsage {
  input: number;
  cachedInput: number;
  /** Cache writes that live five minutes (Anthropic's default), or OpenAI's cache writes. */
  cacheWrite: number;
  /** Anthropic's one-hour cache writes, which cost more. */
  cacheWrite1h: number;
  /** Reasoning tokens are included. */
  output: number;
}

/** Whether the caller leaves the tier to the gateway. */
export function leavesTier({ service_tier: tier }: Pick<ChatRequest, 'service_tier'>): boolean {
  return tier === undefined || tier === null || tier === 'auto' || tier === 'default';
}
