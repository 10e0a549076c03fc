import { writeExactly } from '@sluice/shared/json/exact';
import { isObject, toId, toNaturalNumber, toText } from '../json.js';
import { type BatchFormat, type BatchNews, UnusableResponse } from '../types.js';

const PAGE = '100';
const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  timeout_error: 504,
  overloaded_error: 529,
};

/** Anthropic's Message Batches: the lines are in the body, and results are JSON lines. It keeps no mark of the caller's. */
export const anthropicBatches: BatchFormat = {
  line: (id, body) => `{"custom_id":${JSON.stringify(id)},"params":${writeExactly(body)}}`,
  create: (_mark, _file, lines) => `{"requests":[${lines.join(',')}]}`,
  parseBatch,
  listQuery: (after) => ({ limit: PAGE, ...(after === undefined ? {} : { after_id: after }) }),
  parseList(body) {
    if (!isObject(body) || !Array.isArray(body.data))
      throw new UnusableResponse('the list of batches has no data');
    const batches = body.data.map(parseBatch);
    const last = toText(body.last_id);
    return body.has_more === true && last !== undefined ? { batches, next: last } : { batches };
  },
  // The address that the provider names is not used: the key would go wherever it leads.
  results: ({ id }) => [{ of: 'batches', path: `/${encodeURIComponent(id)}/results` }],
  parseResult(line) {
    if (!isObject(line)) throw new UnusableResponse('a result is not an object');
    const id = toText(line.custom_id) ?? '';
    const { result } = line;
    if (!isObject(result)) return { id };
    if (result.type === 'succeeded') return { id, status: 200, body: result.message };
    if (result.type !== 'errored') return { id };
    const error = isObject(result.error) && isObject(result.error.error) ? result.error.error : result.error;
    const type = isObject(error) ? (toText(error.type) ?? '') : '';
    return { id, status: STATUSES[type] ?? 500, body: result.error };
  },
};

function parseBatch(body: unknown): BatchNews {
  const id = isObject(body) ? toId(body.id) : undefined;
  if (!isObject(body) || id === undefined) throw new UnusableResponse('the batch has no id');
  const { request_counts: counts } = body;
  const count = (field: string) => (isObject(counts) ? toNaturalNumber(counts[field]) : 0);
  const ended = count('succeeded') + count('errored') + count('canceled') + count('expired');
  return {
    id,
    status: body.processing_status === 'ended' ? 'ended' : 'under_way',
    created: Date.parse(toText(body.created_at) ?? '') || 0,
    total: ended + count('processing'),
    ended,
    files: [],
  };
}
