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
import {
  type AnswerContext,
  type Dialect,
  type Fields,
  isFields,
  isJsonContentType,
  Refusal,
  type ServerName,
} from './dialect.js';
import { refuse } from './openai-refusals.js';
import { checkChatRequest, checkRequestTo } from './openai-request.js';
import { SERVERS } from './openai-servers.js';
import { sampleOf } from './sample-schema.js';
import { chatPieces } from './streams.js';

/** 2026-01-01, in seconds: the list must not change between two calls. */
const MODELS_CREATED = 1_767_225_600;

const STATUS_ERRORS: Record<number, { message: string; type: string; code: string | null }> = {
  401: { message: 'Incorrect API key provided.', type: 'invalid_request_error', code: 'invalid_api_key' },
  403: {
    message: 'Country, region, or territory not supported',
    type: 'request_forbidden',
    code: 'unsupported_country_region_territory',
  },
  404: {
    message: 'The model does not exist or you do not have access to it.',
    type: 'invalid_request_error',
    code: 'model_not_found',
  },
  429: {
    message:
      'Rate limit reached on requests per min (RPM): Limit 500, Used 500, Requested 1. Please try again in 120ms.',
    type: 'requests',
    code: 'rate_limit_exceeded',
  },
  500: {
    message: 'The server had an error while processing your request. Sorry about that!',
    type: 'server_error',
    code: null,
  },
  503: {
    message: 'The engine is currently overloaded, please try again later',
    type: 'server_error',
    code: null,
  },
};

export const openai: Dialect = {
  name: 'openai',
  chatPath: '/v1/chat/completions',
  requestIdHeader: 'x-request-id',

  checkAuth(headers, acceptKeys) {
    const key = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1];
    if (key === undefined) {
      const message =
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).";
      throw new Refusal(401, message, 'invalid_request_error');
    }
    if (acceptKeys !== undefined && !acceptKeys.includes(key)) {
      const message = `Incorrect API key provided: ${mask(key)}. You can find your API key at https://platform.openai.com/account/api-keys.`;
      throw new Refusal(401, message, 'invalid_request_error', null, 'invalid_api_key');
    }
  },

  checkContentType(headers) {
    const type = headers['content-type'];
    if (!isJsonContentType(type)) {
      const message = `Unsupported content type: '${type ?? ''}'. This API method only accepts 'application/json' requests, but you specified the header 'Content-Type: ${type ?? ''}'. Please try again with a supported content type.`;
      throw refuse(message, null, 'unsupported_content_type');
    }
  },

  checkBody: checkChatRequest,
  lastUserText,
  answer,
  pieces: chatPieces,
  errorPiece: (refusal, requestId) => `data: ${JSON.stringify(openai.errorBody(refusal, requestId))}\n\n`,

  errorBody: ({ message, type, param, code }) => ({ error: { message, type, param, code } }),
  badJson: () =>
    refuse(
      "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)",
    ),
  tooLarge: () => new Refusal(413, 'Request body is too large.', 'invalid_request_error'),
  notFound: (method, path) => new Refusal(404, `Invalid URL (${method} ${path})`, 'invalid_request_error'),
  wrongMethod: (method, path) =>
    new Refusal(
      405,
      `Not allowed to ${method} on ${path}. (HINT: Perhaps you meant to use a different HTTP method?)`,
      'invalid_request_error',
      null,
      'method_not_supported',
    ),
  contextLength(body) {
    const message = `This model's maximum context length is 128000 tokens. However, your messages resulted in ${128_000 + promptTokens(body)} tokens. Please reduce the length of the messages.`;
    return refuse(message, 'messages', 'context_length_exceeded');
  },
  statusRefusal(status) {
    const known = STATUS_ERRORS[status] ?? (status > 500 ? STATUS_ERRORS[500] : undefined);
    if (known === undefined)
      return new Refusal(status, `Simulated status ${status}`, 'invalid_request_error');
    return new Refusal(status, known.message, known.type, null, known.code);
  },
  modelList: (ids) => ({
    object: 'list',
    data: ids.map((id) => ({ id, object: 'model', created: MODELS_CREATED, owned_by: 'system' })),
  }),
};

/** Another server that takes OpenAI's format. */
export function serverDialect(name: ServerName): Dialect {
  return {
    ...openai,
    name,
    chatPath: `/${name}/v1/chat/completions`,
    checkBody: (body, knowsModel) => checkRequestTo(name, body, knowsModel),
    errorBody: SERVERS[name].errorBody,
    // It tells its usage without being asked, and refuses to be asked.
    ...(name === 'mistral'
      ? {
          pieces: (answer, body) => chatPieces(answer, { ...body, stream_options: { include_usage: true } }),
        }
      : {}),
  };
}

function answer(body: Fields, context: AnswerContext): Fields {
  const { overrides } = context;
  const toolCalls = overrides.text === undefined ? toolCallsFor(body, context) : undefined;
  const cut = cutText(
    toolCalls === undefined ? fullText(context, jsonFormat(body)) : '',
    stops(body.stop),
    tokenLimit(body),
  );
  const finish = toolCalls !== undefined ? 'tool_calls' : cut.reason === 'length' ? 'length' : 'stop';
  const n = typeof body.n === 'number' ? body.n : 1;
  const prompt = promptTokens(body);
  const completion = n * (toolCalls === undefined ? cut.tokens : tokensOf(countChars(toolCalls)));
  const message: Fields = {
    role: 'assistant',
    content: toolCalls === undefined ? cut.text : null,
    refusal: null,
    annotations: [],
  };
  if (toolCalls !== undefined) message.tool_calls = toolCalls;
  const choices = Array.from({ length: overrides.emptyChoices === true ? 0 : n }, (_, index) => ({
    index,
    message,
    logprobs: null,
    finish_reason: overrides.finishReason ?? finish,
  }));
  const usage = mergeUsage(
    {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 0,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
    overrides.usage,
  );
  if (overrides.usage !== undefined && overrides.usage.total_tokens === undefined) {
    usage.total_tokens = Number(usage.prompt_tokens) + Number(usage.completion_tokens);
  }
  return {
    id: `chatcmpl-sim${context.n}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: body.model,
    choices,
    usage,
    service_tier: overrides.serviceTier ?? (body.service_tier === 'flex' ? 'flex' : 'default'),
    system_fingerprint: 'fp_simulated',
  };
}

function toolCallsFor(body: Fields, context: AnswerContext): Fields[] | undefined {
  const choice = body.tool_choice;
  const tools = Array.isArray(body.tools) ? body.tools.filter(isFields) : [];
  const functions = tools.map((tool) => tool.function).filter(isFields);
  const named = isFields(choice) && isFields(choice.function) ? choice.function.name : undefined;
  if (choice === 'none') return undefined;
  const isForced = choice === 'required' || named !== undefined;
  const chosen = functions.find(({ name }) =>
    isForced ? named === undefined || name === named : asksForTool(body, name),
  );
  if (chosen === undefined) return undefined;
  const args = JSON.stringify(isFields(chosen.parameters) ? sampleOf(chosen.parameters) : {});
  const id = `call_${context.textHash}${context.n}`;
  return [{ id, type: 'function', function: { name: chosen.name, arguments: args } }];
}

function jsonFormat(body: Fields): { schema?: Fields } | undefined {
  const format = body.response_format;
  if (!isFields(format) || format.type === 'text') return undefined;
  const schema = isFields(format.json_schema) ? format.json_schema.schema : undefined;
  return isFields(schema) ? { schema } : {};
}

function stops(stop: unknown): string[] {
  if (typeof stop === 'string') return [stop];
  return Array.isArray(stop) ? stop.map(String) : [];
}

function tokenLimit(body: Fields): number | undefined {
  const limit = body.max_completion_tokens ?? body.max_tokens;
  return typeof limit === 'number' ? limit : undefined;
}

function promptTokens(body: unknown): number {
  if (!isFields(body) || !Array.isArray(body.messages)) return 1;
  let chars = 0;
  for (const message of body.messages) if (isFields(message)) chars += countText(message.content);
  return tokensOf(chars);
}

/** The provider shows the ends of a wrong key in its message; whoever passes that on must clean it. */
function mask(key: string): string {
  return key.length <= 12
    ? '*'.repeat(key.length)
    : `${key.slice(0, 8)}${'*'.repeat(key.length - 12)}${key.slice(-4)}`;
}
