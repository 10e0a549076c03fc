import { chatRequest, nameLength } from '../chat/schema.js';
import { batchPaths, batchSchema, batchViewSchema } from './batch-paths.js';
import * as s from './parts.js';
import { webhookSchemas } from './webhook-paths.js';

const message = {
  type: 'object',
  properties: { role: s.text, content: { type: ['string', 'null'] } },
  required: ['role', 'content'],
};

const requestFields = chatRequest.jsonSchema.properties as Record<string, s.Schema>;

export const publicSchemas = {
  ErrorDetail: s.object(
    { message: s.text, type: s.text, code: s.text, param: s.textOrNull },
    { provider_code: { ...s.text, description: 'The code of a provider that refused the request itself.' } },
  ),
  Error: s.object({ error: s.ref('ErrorDetail') }),
  Health: s.object({ status: s.text }, { problems: s.arrayOf(s.text) }),
  ChatRequest: {
    ...chatRequest.jsonSchema,
    description:
      'Fields that are not listed are passed on. The whole body has limits of depth, keys, elements and content parts (`request` in gateway.yaml).',
    properties: {
      ...requestFields,
      messages: requestFields.messages ?? {},
      model: { ...s.text, ...nameLength, description: 'A route of the workspace, or a model id.' },
      // Streaming is answered with 501, so only these values are documented.
      stream: { enum: [false, null] },
    },
  },
  ChatCompletion: {
    type: 'object',
    properties: {
      id: { ...s.text, pattern: '^chatcmpl_' },
      object: { const: 'chat.completion' },
      created: s.whole,
      model: { ...s.text, description: 'What the caller sent.' },
      choices: s.arrayOf({
        type: 'object',
        properties: { index: s.whole, message, finish_reason: s.text },
        required: ['index', 'message', 'finish_reason'],
      }),
      usage: {
        type: 'object',
        properties: { prompt_tokens: s.whole, completion_tokens: s.whole, total_tokens: s.whole },
        required: ['prompt_tokens', 'completion_tokens', 'total_tokens'],
      },
    },
    required: ['id', 'object', 'created', 'model', 'choices', 'usage'],
  },
  ModelListEntry: s.object({
    id: s.text,
    object: { const: 'model' },
    created: s.whole,
    owned_by: { ...s.text, description: '`route:<provider>` for a route, else the provider.' },
  }),
  OwnRoute: s.object({
    id: s.text,
    object: { const: 'route' },
    chain: s.arrayOf(s.ref('RouteEntry')),
    on_crash: s.oneOf('rerun', 'fail'),
  }),
  Batch: batchSchema,
  BatchView: batchViewSchema,
  ...webhookSchemas,
  BackgroundRequest: s.object({ id: s.text, object: { const: 'request' }, status: { const: 'in_progress' } }),
  File: s.object({
    id: { ...s.text, pattern: '^file-' },
    object: { const: 'file' },
    bytes: s.whole,
    created_at: s.whole,
    expires_at: s.whole,
    filename: s.text,
    purpose: s.oneOf('batch', 'batch_output'),
    status: { const: 'processed' },
    status_details: { type: 'null' },
  }),
} satisfies Record<string, s.Schema>;

const header = (description: string, schema: s.Schema = s.text) => ({ description, required: true, schema });
export const COMPLETION_HEADERS = {
  'x-gateway-provider': header('Who served the request.'),
  'x-gateway-model': header('The model at that provider.'),
  'x-gateway-fallback-used': header(
    'Whether an entry other than the first served.',
    s.oneOf('true', 'false'),
  ),
  'x-gateway-adapted': {
    ...header('What was changed in the request for this model. Absent when nothing was.'),
    required: false,
  },
  'x-gateway-latency-ms': header('Duration of the provider call.', { ...s.text, pattern: '^\\d+$' }),
  'x-gateway-cost-usd': header('Estimated cost.', s.usd),
  'x-request-id': header('Names the request in the log.'),
};

export const CHAT_ERRORS = s.errors(
  'invalid_request',
  'invalid_api_key',
  'model_not_found',
  'request_too_large',
  'unsupported_media_type',
  'idempotency_conflict',
  'budget_exceeded',
  'rate_limited',
  'internal_error',
  'not_implemented',
  'provider_error',
  'provider_outcome_unknown',
  'provider_unavailable',
  'service_unavailable',
  'provider_timeout',
);

const KEY = [{ gatewayKey: [] }];
const PUBLIC = [{ url: 'http://127.0.0.1:8080', description: 'The public listener.' }];

export const publicPaths: Record<string, Record<string, unknown>> = {
  '/v1/chat/completions': {
    servers: PUBLIC,
    post: {
      summary: 'Create a chat completion.',
      security: KEY,
      parameters: [
        {
          name: 'idempotency-key',
          in: 'header',
          required: false,
          schema: s.text,
          description: 'Makes a retry safe.',
        },
        {
          name: 'prefer',
          in: 'header',
          required: false,
          schema: s.text,
          description:
            '`respond-async`: the answer is 202, and the completion is at its `location` for a day.',
        },
        {
          name: 'x-gateway-priority',
          in: 'header',
          required: false,
          schema: s.oneOf('interactive', 'normal', 'background'),
          description:
            'The class of the request. One above what the key allows is lowered to that; the answer names the class it got.',
        },
      ],
      requestBody: s.body(s.ref('ChatRequest')),
      responses: {
        '200': s.json('The completion.', s.ref('ChatCompletion'), COMPLETION_HEADERS),
        '202': s.json('It runs in the background.', s.ref('BackgroundRequest')),
        ...CHAT_ERRORS,
      },
    },
  },
  '/v1/requests/{id}': {
    servers: PUBLIC,
    get: {
      summary:
        'How a request in the background stands: 202 while it is under way, then its completion or its error. Both have the header `x-gateway-final: true`; an error without it may pass.',
      security: KEY,
      parameters: [s.inPath('id', 'Id of the request, as the 202 has it.')],
      responses: {
        '200': s.json('The completion.', s.ref('ChatCompletion'), COMPLETION_HEADERS),
        '202': s.json('It is under way.', s.ref('BackgroundRequest')),
        ...s.errors('not_found'),
        ...CHAT_ERRORS,
      },
    },
  },
  '/v1/models': {
    servers: PUBLIC,
    get: {
      summary: 'List the workspace’s routes, then the providers’ model ids.',
      security: KEY,
      responses: {
        '200': s.json('The models.', s.listOf(s.ref('ModelListEntry'))),
        ...s.errors('invalid_api_key', 'service_unavailable'),
      },
    },
  },
  '/v1/models/{id}': {
    servers: PUBLIC,
    get: {
      summary: 'One of those models.',
      security: KEY,
      parameters: [s.inPath('id', 'A route or a model id.')],
      responses: {
        '200': s.json('The model.', s.ref('ModelListEntry')),
        ...s.errors('invalid_api_key', 'model_not_found', 'service_unavailable'),
      },
    },
  },
  ...batchPaths(PUBLIC, KEY),
  '/routes': {
    servers: PUBLIC,
    get: {
      summary: 'List the workspace’s routes with their chains.',
      security: KEY,
      responses: {
        '200': s.json('The routes.', s.listOf(s.ref('OwnRoute'))),
        ...s.errors('invalid_api_key', 'service_unavailable'),
      },
    },
  },
  '/readyz': {
    servers: PUBLIC,
    get: {
      summary: 'Whether the process may be sent requests.',
      security: [],
      responses: { '200': s.json('It may.', s.ref('Health')), '503': s.json('It may not.', s.ref('Health')) },
    },
  },
};
