/** One line of a batch's file: `{"custom_id", "method", "url", "body"}`. */

import { pathOf } from '@sluice/shared/contract/batch';
import { parseExactly, writeExactly } from '@sluice/shared/json/exact';
import { findExcess, type JsonLimits } from '@sluice/shared/json/measure';
import type { JobEndpoint } from '@sluice/shared/queue/job';
import type { LineMistake } from './batch-record.js';

export const MAX_CUSTOM_ID_LENGTH = 512;

export interface BatchLine {
  customId: string;
  /** JSON with unchanged numbers. */
  body: string;
  /** The `model` of the body. */
  model: string;
}

/** The limits of the lines of a batch, and what they ask for. */
export interface OfBatch extends JsonLimits {
  endpoint?: JobEndpoint | undefined;
}

type Mistake = Omit<LineMistake, 'line'>;

/** `text` is undefined for a line that is too long or not UTF-8. Mistakes never quote the line. */
export function parseLine(text: string | undefined, limits: OfBatch): BatchLine | Mistake {
  if (text === undefined)
    return mistake('invalid_json_line', 'The line is too long, or not valid UTF-8.', null);
  if (findExcess(text, { ...limits, depth: limits.depth + 1 }))
    return mistake('invalid_json_line', 'The line is larger in structure than a request may be.', null);
  const line = parseObject(text);
  if (!line) return mistake('invalid_json_line', 'The line is not a JSON object.', null);
  const { custom_id: customId, method, url, body } = line;
  if (typeof customId !== 'string' || customId === '' || customId.length > MAX_CUSTOM_ID_LENGTH)
    return mistake(
      'invalid_request',
      `custom_id must be a text of 1 to ${MAX_CUSTOM_ID_LENGTH} characters.`,
      'custom_id',
    );
  if (method !== 'POST') return mistake('invalid_request', 'method must be "POST".', 'method');
  const path = pathOf(limits.endpoint);
  if (url !== path) return mistake('url_mismatch', `url must be the batch’s endpoint, ${path}.`, 'url');
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return mistake('invalid_request', 'body must be a JSON object.', 'body');
  const model: unknown = Reflect.get(body, 'model');
  return { customId, body: writeExactly(body), model: typeof model === 'string' ? model : '' };
}

export function isMistake(line: BatchLine | Mistake): line is Mistake {
  return 'code' in line;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = parseExactly(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function mistake(code: string, message: string, param: string | null): Mistake {
  return { code, message, param };
}
