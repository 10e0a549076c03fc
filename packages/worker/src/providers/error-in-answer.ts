import { toPlainNumber } from '@sluice/shared/json/exact';
import { isObject } from './json.js';

/** The error that an answer with a 2xx has. `null` and `{}` stand beside good answers, too. */
export function hasError(error: unknown): boolean {
  return isObject(error) ? Object.keys(error).length > 0 : typeof error === 'string' && error !== '';
}

/** The status that stands in an error. */
export function statusIn(error: unknown): number | undefined {
  const code = isObject(error) ? Number(toPlainNumber(error.code)) : Number.NaN;
  return Number.isInteger(code) && code >= 400 && code <= 599 ? code : undefined;
}
