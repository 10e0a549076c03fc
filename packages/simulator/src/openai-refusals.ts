import { Refusal } from './dialect.js';

export function refuse(message: string, param: string | null = null, code: string | null = null): Refusal {
  return new Refusal(400, message, 'invalid_request_error', param, code);
}

export function missing(param: string): Refusal {
  return refuse(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter');
}

export function invalidType(param: string, expected: string, value: unknown): Refusal {
  const message = `Invalid type for '${param}': expected ${expected}, but got ${describe(value)} instead.`;
  return refuse(message, param, 'invalid_type');
}

export function invalidValue(param: string, value: unknown, supported: readonly string[]): Refusal {
  const list = supported.map((item) => `'${item}'`);
  const last = list.pop();
  const values = list.length === 0 ? last : `${list.join(', ')}, and ${last}`;
  // An object of the caller's may have a toString that is no function.
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return refuse(`Invalid value: '${text}'. Supported values are: ${values}.`, param, 'invalid_value');
}

export function badPattern(param: string, pattern: RegExp): Refusal {
  const message = `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '${pattern.source}'.`;
  return refuse(message, param, 'invalid_value');
}

export function checkArray(
  value: unknown,
  param: string,
  expected: string,
  max?: number,
): asserts value is unknown[] {
  if (!Array.isArray(value)) throw invalidType(param, expected, value);
  if (value.length === 0) {
    const message = `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`;
    throw refuse(message, param, 'empty_array');
  }
  if (max !== undefined && value.length > max) {
    const message = `Invalid '${param}': array too long. Expected an array with maximum length ${max}, but got an array with length ${value.length} instead.`;
    throw refuse(message, param, 'array_above_max_length');
  }
}

export function checkString(value: unknown, param: string): asserts value is string {
  if (value === undefined) throw missing(param);
  if (typeof value !== 'string') throw invalidType(param, 'a string', value);
}

export function checkRange(
  value: unknown,
  param: string,
  kind: 'integer' | 'decimal',
  min: number,
  max: number,
): void {
  const expected = kind === 'integer' ? 'an integer' : 'a decimal';
  if (typeof value !== 'number') throw invalidType(param, expected, value);
  if (kind === 'integer' && !Number.isInteger(value)) throw invalidType(param, expected, value);
  if (value >= min && value <= max) return;
  const [side, word, sign, bound] =
    value < min ? (['below', 'minimum', '>=', min] as const) : (['above', 'maximum', '<=', max] as const);
  const message = `Invalid '${param}': ${kind} ${side} ${word} value. Expected a value ${sign} ${bound}, but got ${value} instead.`;
  throw refuse(message, param, `${kind}_${side}_${word.slice(0, 3)}_value`);
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal number';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
