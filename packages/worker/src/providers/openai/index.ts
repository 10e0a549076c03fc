import type { Provider } from '../types.js';
import { parseError } from './error.js';
import { modelsPath, parseModels } from './models.js';
import { buildCompatibleRequest, buildRequest } from './request.js';
import { parseResponse } from './response.js';

/** OpenAI itself. The base URL ends in `/v1`. */
export const openai: Provider = {
  chatPath: '/chat/completions',
  headers: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  requestIdHeader: 'x-request-id',
  buildRequest,
  parseResponse,
  parseError,
  modelsPath,
  parseModels,
};

/** Every other server that speaks OpenAI's chat completions. */
export const openaiCompatible: Provider = { ...openai, buildRequest: buildCompatibleRequest };
