/** The paths of files and batches, as the official SDKs call them. */
import * as s from './parts.js';

const PAGE = { first_id: s.textOrNull, last_id: s.textOrNull, has_more: s.flag };
const FILE = s.inPath('id', 'Id of a file.');
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
    '/v1/files/{id}/content': {
      servers,
      get: get('The bytes of a file.', [FILE], {
        description: 'The bytes, as they were sent.',
        content: { 'application/octet-stream': { schema: { ...s.text, format: 'binary' } } },
      }),
    },
  };
}
