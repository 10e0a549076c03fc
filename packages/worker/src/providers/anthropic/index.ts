import { parseError } from '../parse-error.js';
import type { Provider } from '../types.js';
import { modelsQuery, parseModels } from './models.js';
import { buildRequest } from './request.js';
import { parseResponse } from './response.js';
import { messageEvents } from './stream.js';

/** Anthropic's Messages API. */
export const anthropic: Provider = {
  headers: { 'anthropic-version': '2023-06-01' },
  requestIdHeader: 'request-id',
  buildRequest,
  parseResponse,
  parseError,
  modelsQuery,
  parseModels,
  stream: messageEvents,
};
