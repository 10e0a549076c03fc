import { pathOf } from '@sluice/shared/contract/batch';
import { toPlainNumber, writeExactly } from '@sluice/shared/json/exact';
import { isObject, toId, toNaturalNumber, toText } from '../json.js';
import { type BatchFormat, type BatchNews, UnusableResponse } from '../types.js';

/** The name of our mark in the metadata. */
const MARK = 'sluice_part';
/** The provider deletes results after this time. They are read within a day. */
const KEPT_SECONDS = 3 * 86_400;
const PAGE = '100';
const ENDED: ReadonlySet<unknown> = new Set(['completed', 'expired', 'cancelled']);

/** OpenAI's Batch API: a file of lines is uploaded, and results are files. */
export const openaiBatches: BatchFormat = {
  line: (id, body, endpoint) =>
    `{"custom_id":${JSON.stringify(id)},"method":"POST","url":"${pathOf(endpoint)}","body":${writeExactly(body)}}`,
  create: (mark, file, _lines, endpoint) =>
    JSON.stringify({
      input_file_id: file,
      endpoint: pathOf(endpoint),
      completion_window: '24h',
      metadata: { [MARK]: mark },
      output_expires_after: { anchor: 'created_at', seconds: KEPT_SECONDS },
    }),
  parseBatch,
  listQuery: (after) => ({ limit: PAGE, ...(after === undefined ? {} : { after }) }),
  parseList(body) {
    if (!isObject(body) || !Array.isArray(body.data))
      throw new UnusableResponse('the list of batches has no data');
    const batches = body.data.map(parseBatch);
    const last = batches.at(-1)?.id;
    return body.has_more === true && last !== undefined ? { batches, next: last } : { batches };
  },
  results: ({ files }) =>
    files.map((file) => ({ of: 'files', path: `/${encodeURIComponent(file)}/content` })),
  parseResult(line) {
    if (!isObject(line)) throw new UnusableResponse('a result is not an object');
    const id = toText(line.custom_id) ?? '';
    const { response } = line;
    const status = isObject(response) ? toPlainNumber(response.status_code) : undefined;
    if (!isObject(response) || !isStatus(status)) return { id };
    return { id, status, body: response.body };
  },
};

function isStatus(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 100 && Number(value) <= 599;
}

function parseBatch(body: unknown): BatchNews {
  const id = isObject(body) ? toId(body.id) : undefined;
  if (!isObject(body) || id === undefined) throw new UnusableResponse('the batch has no id');
  const { status, metadata, request_counts: counts } = body;
  const count = (field: string) => (isObject(counts) ? toNaturalNumber(counts[field]) : 0);
  const news: BatchNews = {
    id,
    status: status === 'failed' ? 'failed' : ENDED.has(status) ? 'ended' : 'under_way',
    created: 1_000 * toNaturalNumber(body.created_at),
    total: count('total'),
    ended: count('completed') + count('failed'),
    files: [body.output_file_id, body.error_file_id].flatMap((file) => toId(file) ?? []),
  };
  const mark = isObject(metadata) ? toText(metadata[MARK]) : undefined;
  if (mark !== undefined) news.mark = mark;
  const code = status === 'failed' ? firstCode(body.errors) : undefined;
  if (code !== undefined) news.code = code;
  return news;
}

function firstCode(errors: unknown): string | undefined {
  const [first] = isObject(errors) && Array.isArray(errors.data) ? errors.data : [];
  return isObject(first) ? toText(first.code) : undefined;
}
