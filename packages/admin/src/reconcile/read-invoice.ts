/** Finds out which file it is, and reads it. Every text is hostile: its size, lines, cells and numbers are bounded. */
import { findExcess } from '@sluice/shared/json/measure';
import { isAnthropicCsv, readAnthropicCsv, readAnthropicJson } from './anthropic-invoice.js';
import { type Invoice, InvoiceMistake } from './invoice.js';
import { isObject, type JsonObject, listIn, pagesOf } from './json-pages.js';
import { isOpenaiCsv, readOpenaiCsv, readOpenaiJson } from './openai-invoice.js';

const JSON_LIMITS = { depth: 16, keys: 1_000_000, elements: 60_000 };
const MAX_HEAD = 4_096;
const KNOWN =
  'the costs of OpenAI (grouped by line item) or Anthropic (grouped by description), as CSV or JSON; docs/operating.md says where they are';

/** Throws InvoiceMistake. */
export function readInvoice(text: string, month: string): Invoice {
  const start = text
    .slice(0, MAX_HEAD)
    .replace(/^\ufeff/, '')
    .trimStart();
  if (start.startsWith('{') || start.startsWith('[')) return readJson(text, month);
  const head = (start.split(/\r?\n/, 1)[0] ?? '').toLowerCase();
  if (isOpenaiCsv(head)) return readOpenaiCsv(text, month);
  if (isAnthropicCsv(head)) return readAnthropicCsv(text, month);
  throw new InvoiceMistake(undefined, `is not ${KNOWN}`);
}

function readJson(text: string, month: string): Invoice {
  if (findExcess(text, JSON_LIMITS)) throw new InvoiceMistake(undefined, 'is too large or too deeply nested');
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    throw new InvoiceMistake(undefined, 'is not JSON');
  }
  const [bucket] = pagesOf(json);
  if (bucket === undefined) throw new InvoiceMistake(undefined, 'has no days');
  if (isOpenaiBucket(bucket)) return readOpenaiJson(json, month);
  if (typeof bucket.starting_at === 'string') return readAnthropicJson(json, month);
  throw new InvoiceMistake(undefined, `is not ${KNOWN}`);
}

function isOpenaiBucket(bucket: JsonObject): boolean {
  return isObject(bucket) && bucket.start_time !== undefined && listIn(bucket, 'results').length >= 0;
}
