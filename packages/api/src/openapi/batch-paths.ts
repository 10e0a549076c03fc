/** The paths of files and batches, as the official SDKs call them. */
import * as s from './parts.js';

const PAGE = { first_id: s.textOrNull, last_id: s.textOrNull, has_more: s.flag };
const FILE = s.inPath('id', 'Id of a file.');
const BATCH = s.inPath('id', 'Id of a batch.');
const BATCH_REQUEST = s.object(
  {
    input_file_id: s.text,
    endpoint: { const: '/v1/chat/completions' },
    completion_window: { const: '24h' },
  },
  {
    metadata: s.orNull({ type: 'object', additionalProperties: s.text }),
    output_expires_after: s.object({ anchor: { const: 'created_at' }, seconds: s.whole }),
  },
);
const FORM = s.object(
  { file: { ...s.text, format: 'binary' }, purpose: { const: 'batch' } },
  { 'expires_after[anchor]': { const: 'created_at' }, 'expires_after[seconds]': s.text },
);

export function batchPaths(servers: unknown[], security: unknown[]): Record<string, Record<string, unknown>> {
  const get = (summary: string, parameters: unknown[], answer: s.Answer) => ({
    summary,
    security,
    parameters,
    responses: { '200': answer, ...s.errors('invalid_api_key', 'not_found', 'service_unavailable') },
  });
  return {
    '/v1/files': {
      servers,
      post: {
        summary: 'Store a file.',
        security,
        requestBody: { required: true, content: { 'multipart/form-data': { schema: FORM } } },
        responses: {
          '200': s.json('The file.', s.ref('File')),
          ...s.errors(
            'invalid_request',
            'invalid_api_key',
            'request_too_large',
            'unsupported_media_type',
            'quota_exceeded',
            'rate_limited',
            'service_unavailable',
          ),
        },
      },
      get: {
        summary: 'List the workspace’s files.',
        security,
        parameters: [
          s.inQuery('after', 'Id of the last file of the page before.'),
          s.inQuery('limit', 'How many at most.'),
          s.inQuery('order', 'By age.', s.oneOf('asc', 'desc')),
          s.inQuery('purpose', 'Only files for this purpose.'),
        ],
        responses: {
          '200': s.json('The files.', s.listOf(s.ref('File'), PAGE)),
          ...s.errors('invalid_request', 'invalid_api_key', 'service_unavailable'),
        },
      },
    },
    '/v1/files/{id}': {
      servers,
      get: get('One file.', [FILE], s.json('The file.', s.ref('File'))),
      delete: get('Delete a file.', [FILE], s.json('It is gone.', s.deleted('file'))),
    },
    '/v1/batches': {
      servers,
      post: {
        summary: 'Run the lines of a file in the background.',
        security,
        requestBody: s.body(BATCH_REQUEST),
        responses: {
          '200': s.json('The batch.', s.ref('Batch')),
          ...s.errors('invalid_request', 'invalid_api_key', 'quota_exceeded', 'service_unavailable'),
        },
      },
      get: {
        summary: 'List the workspace’s batches, newest first.',
        security,
        parameters: [
          s.inQuery('after', 'Id of the last batch of the page before.'),
          s.inQuery('limit', 'How many at most.'),
        ],
        responses: {
          '200': s.json('The batches.', s.listOf(s.ref('Batch'), PAGE)),
          ...s.errors('invalid_request', 'invalid_api_key', 'service_unavailable'),
        },
      },
    },
    '/v1/batches/{id}': {
      servers,
      get: get('One batch.', [BATCH], s.json('The batch.', s.ref('Batch'))),
    },
    '/v1/batches/{id}/cancel': {
      servers,
      post: {
        summary: 'Cancel a batch: what waits is ended, what runs may end.',
        security,
        parameters: [BATCH],
        responses: {
          '200': s.json('The batch.', s.ref('Batch')),
          ...s.errors('invalid_api_key', 'not_found', 'conflict', 'service_unavailable'),
        },
      },
    },
    '/v1/files/{id}/content': {
      servers,
      get: get('The bytes of a file.', [FILE], {
        description: 'The bytes, as they were sent.',
        content: { 'application/octet-stream': { schema: { ...s.text, format: 'binary' } } },
      }),
    },
  };
}

const counted = (...names: string[]) => s.object(Object.fromEntries(names.map((name) => [name, s.whole])));

const batchFields = {
  id: { ...s.text, pattern: '^batch_' },
  object: { const: 'batch' },
  endpoint: s.text,
  errors: s.orNull(
    s.object({
      object: { const: 'list' },
      data: s.arrayOf(s.object({ code: s.text, line: s.wholeOrNull, message: s.text, param: s.textOrNull })),
    }),
  ),
  input_file_id: s.text,
  completion_window: s.text,
  status: s.oneOf(
    'validating',
    'failed',
    'in_progress',
    'finalizing',
    'completed',
    'expired',
    'cancelling',
    'cancelled',
  ),
  output_file_id: s.textOrNull,
  error_file_id: s.textOrNull,
  created_at: s.whole,
  in_progress_at: s.wholeOrNull,
  expires_at: s.whole,
  finalizing_at: s.wholeOrNull,
  completed_at: s.wholeOrNull,
  failed_at: s.wholeOrNull,
  expired_at: s.wholeOrNull,
  cancelling_at: s.wholeOrNull,
  cancelled_at: s.wholeOrNull,
  request_counts: counted('total', 'completed', 'failed'),
  usage: s.object({
    input_tokens: s.whole,
    input_tokens_details: counted('cached_tokens'),
    output_tokens: s.whole,
    output_tokens_details: counted('reasoning_tokens'),
    total_tokens: s.whole,
  }),
  metadata: s.orNull({ type: 'object', additionalProperties: s.text }),
};

export const batchSchema = s.object(batchFields);
export const batchViewSchema = s.object({
  ...batchFields,
  workspace: s.text,
  cost_usd: s.usd,
  fed: s.whole,
  errors_by_code: { type: 'object', additionalProperties: s.whole },
  waits_for: s.textOrNull,
  provider_batches: s.orNull(
    s.object({
      provider: s.text,
      model: s.text,
      since: s.wholeOrNull,
      lines: s.whole,
      ended: s.whole,
      ids: { type: 'array', items: s.text },
      one_by_one: s.textOrNull,
    }),
  ),
});
