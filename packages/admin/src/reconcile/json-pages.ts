import { InvoiceMistake } from './invoice.js';

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The buckets of an answer, or of a list of answers: the pages of one question. */
export function pagesOf(json: unknown): JsonObject[] {
  const pages = (Array.isArray(json) ? json : [json]).filter(isObject);
  if (pages.length === 0) throw new InvoiceMistake(undefined, 'has no page with data');
  if (pages.every(({ has_more: more }) => more === true))
    throw new InvoiceMistake(
      undefined,
      'has more pages (has_more); ask for 31 days at once, or send all pages as a list',
    );
  return pages.flatMap((page) => listIn(page, 'data'));
}

export function listIn(value: JsonObject, name: string): JsonObject[] {
  const list = value[name];
  if (!Array.isArray(list) || !list.every(isObject))
    throw new InvoiceMistake(undefined, `has no list ${name} of objects`);
  return list;
}

/** '' for what is no text. */
export function textIn(value: JsonObject, name: string): string {
  const text = value[name];
  return typeof text === 'string' ? text : '';
}
