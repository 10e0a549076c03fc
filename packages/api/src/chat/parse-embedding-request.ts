import { asRequest, type ChatRequest, type EmbeddingRequest } from '@sluice/shared/chat';
import type { RequestLimits } from '@sluice/shared/config/gateway-config';
import { embeddingRequest, MOST_INPUTS, MOST_TOKENS } from '@sluice/shared/contract/embedding-request';
import { GatewayError } from '@sluice/shared/errors';
import type { JsonLimits } from '@sluice/shared/json/measure';
import { parseJson } from '../http/parse-json.js';
import { refuseExcess } from '../http/refuse-excess.js';
import { describeMistake } from './parse-chat-request.js';

/** Tokens are elements of arrays, and a number takes little work. */
export function withTokens<L extends JsonLimits>(limits: L): L {
  return { ...limits, elements: Math.max(limits.elements, MOST_INPUTS + MOST_TOKENS) };
}

/** Parses the body as an embeddings request. Throws `invalid_request` as `parseChatRequest` does. */
export function parseEmbeddingRequest(text: string, limits: RequestLimits): ChatRequest {
  refuseExcess(text, withTokens(limits));
  const body = parseJson(text);
  if (!embeddingRequest.test(body)) throw describeMistake(embeddingRequest, body, 'an embeddings request');
  // So no body is one of both kinds, and an Idempotency-Key cannot mistake one for the other.
  if ('messages' in body)
    throw new GatewayError(
      'invalid_request',
      'An embeddings request has no messages. Send a chat to /v1/chat/completions.',
      { param: 'messages' },
    );
  return asRequest(body as EmbeddingRequest);
}
