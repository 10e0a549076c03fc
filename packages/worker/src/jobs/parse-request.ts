import type { ChatRequest } from '@sluice/shared/chat';
import { parseExactly, toPlainNumber } from '@sluice/shared/json/exact';

/** The fields that the gateway compares and calculates with. All other numbers pass unchanged. */
const CALCULATED = ['max_tokens', 'max_completion_tokens', 'n', 'temperature', 'top_p', 'top_logprobs'];

/** The caller's body, which the api has checked. */
export function parseRequest(text: string): ChatRequest {
  const request = parseExactly(text) as ChatRequest;
  for (const field of CALCULATED) {
    const value = request[field];
    if (typeof value === 'object' && value !== null) request[field] = toPlainNumber(value);
  }
  return request;
}
