import type { ChatRequest } from '@sluice/shared/chat';
import type { ChainEntry } from '@sluice/shared/queue/job';

/** Reasoning models refuse `max_tokens` and want `max_completion_tokens`. */
const WANTS_COMPLETION_LIMIT = /^(?:ft:)?(?:o\d|gpt-[5-9])/;

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
  if (limit === null || WANTS_COMPLETION_LIMIT.test(entry.model)) return body;
  delete body.max_completion_tokens;
  return Object.assign(body, { max_tokens: limit });
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
