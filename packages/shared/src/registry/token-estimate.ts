/** What a call will most likely take of a provider's limits per minute. */
import type { ChatRequest } from '../chat.js';
import type { ProviderConfig } from '../config/provider.js';
import { measurePrompt } from './prompt-size.js';

/** OpenAI counts like this before it has read the prompt. */
const BYTES_PER_TOKEN = 4;
const IMAGE_TOKENS = 1_600;
/** When nobody says how long an answer may be, most are shorter. */
const USUAL_OUTPUT_TOKENS = 1_000;

export interface TokenEstimate {
  input: number;
  /** Of all choices. */
  output: number;
  /** How many answers it asks for at once. Absent: one. */
  choices?: number;
  /** The request names its limit of output tokens: OpenAI counts that, whatever comes back. */
  isNamed?: boolean;
  /** How long the answers of the route mostly are. Absent: nobody knows yet. */
  likely?: number;
  /** By how much the first guess of the input was multiplied. */
  ratio?: number;
}

export function estimateTokens(request: ChatRequest): TokenEstimate {
  const { bytes, images, embeds } = measurePrompt(request);
  if (embeds) return { input: Math.ceil(bytes / BYTES_PER_TOKEN) + embeds.tokens, output: 0 };
  const named = Math.max(request.max_completion_tokens ?? 0, request.max_tokens ?? 0);
  const choices = typeof request.n === 'number' ? request.n : 1;
  const input = Math.ceil(bytes / BYTES_PER_TOKEN) + images * IMAGE_TOKENS;
  const estimate: TokenEstimate = { input, output: (named || USUAL_OUTPUT_TOKENS) * choices };
  if (choices > 1) estimate.choices = choices;
  if (named > 0) estimate.isNamed = true;
  return estimate;
}

/** Whether it has limits per minute, its keys included. */
export function hasRateLimits(provider: ProviderConfig | undefined): boolean {
  return (
    provider?.limits !== undefined || provider?.keys?.some(({ limits }) => limits !== undefined) === true
  );
}
