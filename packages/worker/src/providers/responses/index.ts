import type { Provider } from '../types.js';
import { buildRequest } from './request.js';
import { parseResponse } from './response.js';
import { responseEvents } from './stream.js';

/** OpenAI's Responses API: another way to models of kind `openai`. Errors and lists of models are the same as there. */
export const responsesFormat = {
  buildRequest,
  // The messages become items.
  passesMessages: () => false,
  parseResponse,
  stream: responseEvents,
} satisfies Partial<Provider>;
