import { parseError } from '../parse-error.js';
import type { Provider } from '../types.js';
import { parseModels } from './models.js';
import { buildCompatibleRequest, buildRequest, hasNoForeign, withoutForeign } from './request.js';
import { parseResponse } from './response.js';
import { chunks, compatibleChunks } from './stream.js';

/** OpenAI itself. The base URL ends in `/v1`. */
export const openai: Provider = {
  headers: {},
  requestIdHeader: 'x-request-id',
  buildRequest: (request, entry) => withoutForeign(buildRequest(request, entry)),
  passesMessages: hasNoForeign,
  parseResponse,
  parseError,
  modelsQuery: () => ({}), // The whole list is one page.
  parseModels,
  stream: chunks,
};

/** Every other server that speaks OpenAI's chat completions. */
export const openaiCompatible: Provider = {
  ...openai,
  buildRequest: buildCompatibleRequest,
  passesMessages: () => true,
  stream: compatibleChunks,
};

/** One of them that refuses fields it does not know. */
export const strictlyCompatible: Provider = {
  ...openai,
  buildRequest: (request, entry) => withoutForeign(buildCompatibleRequest(request, entry)),
  stream: compatibleChunks,
};
