import * as c from '@sluice/shared/contract/all';
import { chatRequest, nameLength } from '@sluice/shared/contract/chat-request';
import { embeddingRequest, MOST_TOKENS } from '@sluice/shared/contract/embedding-request';
import { batchPaths, PAGE } from './batch-paths.js';
import * as s from './parts.js';

const requestFields = chatRequest.json.properties as Record<string, c.JsonSchema>;

export const chatRequestSchema = {
  ...chatRequest.json,
  description:
    'Fields that are not listed are passed on. The whole body has limits of depth, keys, elements and content parts (`request` in gateway.yaml).',
  properties: {
    ...requestFields,
    messages: requestFields.messages ?? {},
    model: { ...c.text().json, ...nameLength, description: 'A route of the workspace, or a model id.' },
    // Streaming is answered with 501, so only these values are documented.
    stream: { enum: [false, null] },
  },
};
export const embeddingRequestSchema = {
  ...embeddingRequest.json,
  description: `Fields that are not listed are passed on, but for \`messages\`, which are those of a chat. All inputs together have ${MOST_TOKENS} tokens at most, where they come as tokens.`,
};
const embeddingRequestRef = { $ref: '#/components/schemas/EmbeddingRequest' };
export const chatRequestRef = { $ref: '#/components/schemas/ChatRequest' };

const header = (description: string, shape: c.Shape = c.text()) => ({
  description,
  required: true,
  schema: shape.json,
});
export const COMPLETION_HEADERS = {
  'x-gateway-provider': header('Who served the request.'),
  'x-gateway-model': header('The model at that provider.'),
  'x-gateway-fallback-used': header(
    'Whether an entry other than the first served.',
    c.choice('true', 'false'),
  ),
  'x-gateway-adapted': {
    ...header('What was changed in the request for this model. Absent when nothing was.'),
    required: false,
  },
  'x-gateway-budget-route': {
    ...header('The route that served, because a budget is spent. Absent otherwise.'),
    required: false,
  },
  'x-gateway-latency-ms': header('Duration of the provider call.', c.text().about({ pattern: '^\\d+$' })),
  'x-gateway-cost-usd': header('Estimated cost.', c.usd),
  'x-gateway-queue-ms': header('How long the request waited.', c.text().about({ pattern: '^\\d+$' })),
  'x-gateway-attempts': header('How many calls were made for it.', c.text().about({ pattern: '^\\d+$' })),
  'idempotent-replayed': {
    ...header('`true` for an answer that was kept for the Idempotency-Key. Absent otherwise.'),
    required: false,
  },
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

const REQUEST_HEADERS = [
  {
    name: 'idempotency-key',
    in: 'header',
    required: false,
    schema: c.text().json,
    description: 'Makes a retry safe.',
  },
  {
    name: 'prefer',
    in: 'header',
    required: false,
    schema: c.text().json,
    description: '`respond-async`: the answer is 202, and the completion is at its `location` for a day.',
  },
  {
    name: 'x-gateway-priority',
    in: 'header',
    required: false,
    schema: c.choice(...c.PRIORITIES).json,
    description:
      'The class of the request. One above what the key allows is lowered to that; the answer names the class it got.',
  },
  {
    name: 'x-gateway-deadline',
    in: 'header',
    required: false,
    schema: c.text().json,
    description:
      'For a request in the background: until when it has time, as a duration up to 48h such as 90s, 15m or 6h, or as an instant. It takes the cheapest way that is over by then.',
  },
];

export const publicPaths: Record<string, Record<string, unknown>> = {
  '/v1/chat/completions': {
    servers: PUBLIC,
    post: {
      summary: 'Create a chat completion.',
      security: KEY,
      parameters: REQUEST_HEADERS,
      requestBody: s.body(chatRequestRef),
      responses: {
        '200': s.json('The completion.', c.chatCompletion, COMPLETION_HEADERS),
        '202': s.json('It runs in the background.', c.backgroundRequest),
        ...CHAT_ERRORS,
      },
    },
  },
  '/v1/embeddings': {
    servers: PUBLIC,
    post: {
      summary: 'Embed texts or tokens.',
      security: KEY,
      parameters: REQUEST_HEADERS,
      requestBody: s.body(embeddingRequestRef),
      responses: {
        '200': s.json('The embeddings, as the provider wrote them.', c.embeddingList, COMPLETION_HEADERS),
        '202': s.json('It runs in the background.', c.backgroundRequest),
        ...CHAT_ERRORS,
      },
    },
  },
  '/v1/requests': {
    servers: PUBLIC,
    get: {
      summary: 'List the workspace’s requests in the background, newest first.',
      security: KEY,
      parameters: [
        s.inQuery('status', 'Only those of one status: in_progress, completed, failed or cancelled.'),
        s.inQuery('after', 'Id of the last request of the page before.'),
        s.inQuery('limit', 'How many at most.'),
      ],
      responses: {
        '200': s.json('The requests.', c.listOf(c.backgroundRequest, PAGE)),
        ...s.errors('invalid_request', 'invalid_api_key', 'service_unavailable'),
      },
    },
  },
  '/v1/requests/{id}/cancel': {
    servers: PUBLIC,
    post: {
      summary: 'Cancel a request in the background. One that is being served is stopped.',
      security: KEY,
      parameters: [s.inPath('id', 'Id of the request, as the 202 has it.')],
      responses: {
        '200': s.json('The request.', c.backgroundRequest),
        ...s.errors('invalid_api_key', 'not_found', 'conflict', 'service_unavailable'),
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
        '200': s.json('The completion.', c.chatCompletion, COMPLETION_HEADERS),
        '202': s.json('It is under way.', c.backgroundRequest),
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
        '200': s.json('The models.', c.listOf(c.modelListEntry)),
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
        '200': s.json('The model.', c.modelListEntry),
        ...s.errors('invalid_api_key', 'model_not_found', 'service_unavailable'),
      },
    },
  },
  '/v1/budget': {
    servers: PUBLIC,
    get: {
      summary: 'What is left of the budgets that concern the caller, and when they renew.',
      security: KEY,
      parameters: [
        {
          name: 'user',
          in: 'query',
          required: false,
          schema: c.text().json,
          description: 'The end user, as `user` of a request.',
        },
        {
          name: 'x-gateway-tags',
          in: 'header',
          required: false,
          schema: c.text().json,
          description: 'The tags, as in a request.',
        },
      ],
      responses: {
        '200': s.json('The narrowest first.', c.listOf(c.budgetState)),
        ...s.errors('invalid_api_key', 'service_unavailable'),
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
        '200': s.json('The routes.', c.listOf(c.ownRoute)),
        ...s.errors('invalid_api_key', 'service_unavailable'),
      },
    },
  },
  '/readyz': {
    servers: PUBLIC,
    get: {
      summary: 'Whether the process may be sent requests.',
      security: [],
      responses: { '200': s.json('It may.', c.health), '503': s.json('It may not.', c.health) },
    },
  },
};
