import {
  asksForTool,
  countChars,
  countText,
  cutText,
  fullText,
  lastUserText,
  mergeUsage,
  tokensOf,
} from './answer-text.js';
import { refuse } from './anthropic-refusals.js';
import { checkMessagesRequest } from './anthropic-request.js';
import {
  type AnswerContext,
  type Dialect,
  type Fields,
  isFields,
  isJsonContentType,
  Refusal,
} from './dialect.js';
import { jsonAtEnd, sampleOf } from './sample-schema.js';
import { messagePieces } from './streams.js';

const STATUS_ERRORS: Record<number, [type: string, message: string]> = {
  400: ['invalid_request_error', 'Simulated bad request'],
  401: ['authentication_error', 'invalid x-api-key'],
  402: ['billing_error', 'Your credit balance is too low to access the Anthropic API.'],
  403: ['permission_error', 'Your API key does not have permission to use the specified resource.'],
  404: ['not_found_error', 'Not found'],
  413: ['request_too_large', 'Request exceeds the maximum size'],
  429: [
    'rate_limit_error',
    "This request would exceed your organization's rate limit of 50 requests per minute.",
  ],
  500: ['api_error', 'Internal server error'],
  504: ['timeout_error', 'Request timed out'],
  529: ['overloaded_error', 'Overloaded'],
};

export const anthropic: Dialect = {
  name: 'anthropic',
  chatPath: '/v1/messages',
  requestIdHeader: 'request-id',

  checkAuth(headers, acceptKeys) {
    const key = headers['x-api-key'];
    if (typeof key !== 'string' || key === '') {
      throw new Refusal(401, 'x-api-key header is required', 'authentication_error');
    }
    if (acceptKeys !== undefined && !acceptKeys.includes(key)) {
      throw new Refusal(401, 'invalid x-api-key', 'authentication_error');
    }
    const version = headers['anthropic-version'];
    if (version === undefined) throw refuse('anthropic-version: header is required');
    if (version !== '2023-06-01' && version !== '2023-01-01') {
      throw refuse(`anthropic-version: "${String(version)}" is not a valid version`);
    }
  },

  checkContentType(headers) {
    if (!isJsonContentType(headers['content-type'])) throw refuse('content-type: must be application/json');
  },

  checkBody: checkMessagesRequest,
  lastUserText,
  answer,
  pieces: messagePieces,
  errorPiece: ({ type, message }) =>
    `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type, message } })}\n\n`,

  errorBody: ({ type, message }, requestId) => ({
    type: 'error',
    error: { type, message },
    request_id: requestId,
  }),
  badJson: () => refuse('The request body is not valid JSON'),
  tooLarge: () => new Refusal(413, 'Request exceeds the maximum size', 'request_too_large'),
  notFound: () => new Refusal(404, 'Not found', 'not_found_error'),
  wrongMethod: () => new Refusal(405, 'Method Not Allowed', 'invalid_request_error'),
  contextLength: (body) =>
    refuse(`prompt is too long: ${200_000 + promptTokens(body)} tokens > 200000 maximum`),
  statusRefusal(status) {
    const [type, message] = STATUS_ERRORS[status] ?? [
      status < 500 ? 'invalid_request_error' : 'api_error',
      `Simulated status ${status}`,
    ];
    return new Refusal(status, message, type);
  },
  modelList,
};

function modelList(ids: readonly string[], query: URLSearchParams): Fields & { data: Fields[] } {
  const limit = query.has('limit') ? Number(query.get('limit')) : 20;
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) {
    throw refuse('limit: Input should be between 1 and 1000');
  }
  const after = query.get('after_id');
  const start = after === null ? 0 : ids.indexOf(after) + 1;
  if (after !== null && start === 0) throw refuse('after_id: no such model');
  const page = ids.slice(start, start + limit);
  return {
    data: page.map((id) => ({ type: 'model', id, display_name: id, created_at: '2026-01-01T00:00:00Z' })),
    has_more: start + limit < ids.length,
    first_id: page[0] ?? null,
    last_id: page.at(-1) ?? null,
  };
}

function answer(body: Fields, context: AnswerContext): Fields {
  const { overrides } = context;
  const toolUse = overrides.text === undefined ? toolUseFor(body, context) : undefined;
  const stops = Array.isArray(body.stop_sequences) ? body.stop_sequences.map(String) : [];
  const cut = cutText(
    toolUse === undefined ? fullText(context, jsonFormat(body)) : '',
    stops,
    Number(body.max_tokens),
  );
  const reasons = { end: 'end_turn', stop: 'stop_sequence', length: 'max_tokens' };
  const text = cut.text === '' ? [] : [{ type: 'text', text: cut.text }];
  const usage = mergeUsage(
    {
      input_tokens: promptTokens(body),
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: toolUse === undefined ? cut.tokens : tokensOf(countChars(toolUse)),
      service_tier: overrides.serviceTier ?? 'standard',
    },
    overrides.usage,
  );
  return {
    id: `msg_sim${context.n}`,
    type: 'message',
    role: 'assistant',
    model: body.model,
    content: overrides.emptyChoices === true ? [] : toolUse === undefined ? text : [toolUse],
    stop_reason: overrides.finishReason ?? (toolUse === undefined ? reasons[cut.reason] : 'tool_use'),
    stop_sequence: cut.stop,
    usage,
  };
}

function toolUseFor(body: Fields, context: AnswerContext): Fields | undefined {
  const choice = body.tool_choice;
  const type = isFields(choice) ? choice.type : 'auto';
  if (type === 'none') return undefined;
  const tools = Array.isArray(body.tools) ? body.tools.filter(isFields) : [];
  const named = isFields(choice) ? choice.name : undefined;
  const chosen = tools.find(({ name }) => {
    if (type === 'any') return true;
    return type === 'tool' ? name === named : asksForTool(body, name);
  });
  if (chosen === undefined) return undefined;
  const input = isFields(chosen.input_schema) ? sampleOf(chosen.input_schema) : {};
  return { type: 'tool_use', id: `toolu_${context.textHash}${context.n}`, name: chosen.name, input };
}

function jsonFormat(body: Fields): { schema?: Fields } | undefined {
  const format = isFields(body.output_config) ? body.output_config.format : undefined;
  if (isFields(format) && isFields(format.schema)) return { schema: format.schema };
  const asked = /JSON schema/.test(String(body.system)) ? jsonAtEnd(body.system) : undefined;
  return asked === undefined ? undefined : { schema: asked };
}

function promptTokens(body: unknown): number {
  if (!isFields(body)) return 1;
  let chars = countText(body.system);
  if (Array.isArray(body.messages)) {
    for (const message of body.messages) if (isFields(message)) chars += countText(message.content);
  }
  return tokensOf(chars);
}
