/** The paths of files and batches, as the official SDKs call them. */
import * as c from '@sluice/shared/contract/all';
import * as s from './parts.js';

/** What a page of a list has beside its data. */
export const PAGE = { first_id: c.textOrNull, last_id: c.textOrNull, has_more: c.flag };
const FILE = s.inPath('id', 'Id of a file.');
const BATCH = s.inPath('id', 'Id of a batch.');
const binary = { ...c.text().json, format: 'binary' };
const FORM = c.fields({
  file: c.any<unknown>(binary),
  purpose: c.literal('batch'),
  'expires_after[anchor]': c.optional(c.literal('created_at')),
  'expires_after[seconds]': c.optional(c.text()),
});

export function batchPaths(servers: unknown[], security: unknown[]): Record<string, Record<string, unknown>> {
  const get = (summary: string, parameters: unknown[], answer: s.DescribedResponse) => ({
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
        requestBody: { required: true, content: { 'multipart/form-data': { schema: FORM.json } } },
        responses: {
          '200': s.json('The file.', c.file),
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
          s.inQuery('order', 'By age.', c.choice('asc', 'desc')),
          s.inQuery('purpose', 'Only files for this purpose.'),
        ],
        responses: {
          '200': s.json('The files.', c.listOf(c.file, PAGE)),
          ...s.errors('invalid_request', 'invalid_api_key', 'service_unavailable'),
        },
      },
    },
    '/v1/files/{id}': {
      servers,
      get: get('One file.', [FILE], s.json('The file.', c.file)),
      delete: get('Delete a file.', [FILE], s.json('It is gone.', c.deleted('file'))),
    },
    '/v1/batches': {
      servers,
      post: {
        summary: 'Run the lines of a file in the background.',
        security,
        requestBody: s.body(c.batchInput),
        responses: {
          '200': s.json('The batch, or its quote.', c.batchOrQuote),
          ...s.errors(
            'invalid_request',
            'invalid_api_key',
            'quota_exceeded',
            'rate_limited',
            'service_unavailable',
          ),
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
          '200': s.json('The batches.', c.listOf(c.batch, PAGE)),
          ...s.errors('invalid_request', 'invalid_api_key', 'service_unavailable'),
        },
      },
    },
    '/v1/batches/{id}': {
      servers,
      get: get('One batch.', [BATCH], s.json('The batch.', c.batch)),
    },
    '/v1/batches/{id}/cancel': {
      servers,
      post: {
        summary: 'Cancel a batch: what waits is ended, what runs may end.',
        security,
        parameters: [BATCH],
        responses: {
          '200': s.json('The batch.', c.batch),
          ...s.errors('invalid_api_key', 'not_found', 'conflict', 'service_unavailable'),
        },
      },
    },
    '/v1/files/{id}/content': {
      servers,
      get: get('The bytes of a file.', [FILE], {
        description: 'The bytes, as they were sent.',
        content: { 'application/octet-stream': { schema: binary } },
      }),
    },
  };
}
