import type { Provider } from '../types.js';
import { parseError } from './error.js';
import { modelsPath, parseModels } from './models.js';
import { buildRequest } from './request.js';
import { parseResponse } from './response.js';

/** Anthropic's Messages API. The base URL has no version; the paths carry it. */
export const anthropic: Provider = {
  chatPath: '/v1/messages',
  headers: (apiKey) => ({ 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }),
  requestIdHeader: 'request-id',
  buildRequest,
  parseResponse,
  parseError,
  modelsPath,
  parseModels,
};
