import type { ChatRequest } from '@sluice/shared/chat';
import type { RequestLimits } from '@sluice/shared/config/gateway-config';
import { chatRequest } from '@sluice/shared/contract/chat-request';
import type { Quick } from '@sluice/shared/contract/quick-structs';
import { GatewayError } from '@sluice/shared/errors';
import type { MemberSearch } from '@sluice/shared/json/measure';
import { toPath } from '../http/json-path.js';
import { parseJson } from '../http/parse-json.js';
import { refuseExcess } from '../http/refuse-excess.js';

/**
 * Parses the body as a chat request. Throws `invalid_request` with the path of the first mistake, and never quotes a value.
 * Checking costs no more than parsing: the size is checked before the text is parsed, and only refusals need paths.
 */
export function parseChatRequest(text: string, limits: RequestLimits, search?: MemberSearch): ChatRequest {
  refuseExcess(text, limits, search);
  const body = parseJson(text);
  if (Array.isArray(body)) throw invalid('The body must be a JSON object.', null);
  if ('stream' in body && body.stream === true) {
    throw new GatewayError(
      'not_implemented',
      'Streaming is not supported. Send "stream": false or leave it out.',
      {
        param: 'stream',
      },
    );
  }
  refuseTooMany(body, limits);
  if (!chatRequest.test(body)) throw describeMistake(chatRequest, body, 'a chat request');
  const request = body as ChatRequest;
  search?.compare(request.messages);
  return request;
}

/** Every message and part takes work to translate, and no model reads so many. */
function refuseTooMany(body: object, limits: RequestLimits): void {
  const messages: unknown = 'messages' in body ? body.messages : undefined;
  if (!Array.isArray(messages)) return;
  if (messages.length > limits.messages)
    throw invalid(`messages has more than ${limits.messages} messages.`, 'messages');
  let parts = 0;
  for (const [i, message] of messages.entries()) {
    if (Array.isArray(message?.content)) parts += message.content.length;
    if (parts > limits.parts)
      throw invalid(`The messages have more than ${limits.parts} content parts.`, `messages[${i}].content`);
  }
}

/** The first thing that is wrong with the request. */
export function describeMistake(shape: Quick, body: object, what: string): GatewayError {
  const [error] = shape.validate(body);
  const [failure] = error?.failures() ?? [];
  if (!failure) return invalid(`The body is not ${what}.`, null);
  const param = toPath(failure.path);
  const path = param ?? 'The body';
  if (failure.value === undefined) return invalid(`${path} is required.`, param);
  if (failure.refinement !== undefined) return invalid(`${path} ${failure.message}.`, param);
  return invalid(`${path} must be ${failure.message}.`, param);
}

function invalid(message: string, param: string | null): GatewayError {
  return new GatewayError('invalid_request', message, { param });
}
