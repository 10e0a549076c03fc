/** The common chat-completions format, as far as the gateway looks into it. Unknown fields travel along untouched. */

export interface TextPart {
  type: 'text';
  text: string;
}

export interface ImagePart {
  type: 'image_url';
  image_url: { url: string; detail?: string };
}

/** Any other part (`input_audio`, `file`, `refusal`, …): its own fields are checked where they are used. */
export interface OtherPart {
  type: string;
  [field: string]: unknown;
}

export type ContentPart = TextPart | ImagePart | OtherPart;

export interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

/** Results of calls had the role `function` before there were tools. OpenAI still accepts it. */
export type Role = 'developer' | 'system' | 'user' | 'assistant' | 'tool' | 'function';

export interface ChatMessage {
  role: Role;
  content?: string | ContentPart[] | null;
  name?: string | null;
  tool_calls?: ToolCall[] | null;
  tool_call_id?: string | null;
  [field: string]: unknown;
}

export interface ChatRequest {
  model: string;
  messages: ChatMessage[];
  temperature?: number | null;
  max_tokens?: number | null;
  max_completion_tokens?: number | null;
  top_p?: number | null;
  stop?: string | string[] | null;
  stream?: boolean | null;
  [field: string]: unknown;
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
