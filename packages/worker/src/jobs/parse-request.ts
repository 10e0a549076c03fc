import type { ChatRequest } from '@sluice/shared/chat';
import { parseExactly, toPlainNumber } from '@sluice/shared/json/exact';
import type { TextRange } from '@sluice/shared/json/measure';
import { holdMessages, MESSAGES_HERE } from '../calls/held-messages.js';

/** The fields that the gateway compares and calculates with. All other numbers pass unchanged. */
const CALCULATED = ['max_tokens', 'max_completion_tokens', 'n', 'temperature', 'top_p', 'top_logprobs'];

/** The caller's body, which the api has checked. `messagesAt`: where its messages are, if it is large. */
export function parseRequest(body: string | Buffer, messagesAt?: TextRange): ChatRequest {
  if (messagesAt === undefined || typeof body === 'string') return readRequest(body.toString());
  const [start, end] = messagesAt;
  const outline =
    body.toString('utf8', 0, start) + JSON.stringify(MESSAGES_HERE) + body.toString('utf8', end);
  const request = readRequest(outline);
  // Somebody has changed the body in Redis. Without this check the provider would get whatever the rest happens to be.
  if ((request.messages as unknown) !== MESSAGES_HERE)
    throw new Error('the request has no messages at their place');
  return holdMessages(request, body.subarray(start, end));
}

function readRequest(text: string): ChatRequest {
  const request = parseExactly(text) as ChatRequest;
  for (const field of CALCULATED) {
    const value = request[field];
    if (typeof value === 'object' && value !== null) request[field] = toPlainNumber(value);
  }
  return request;
}
