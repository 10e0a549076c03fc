import { type Fields, isFields, Refusal } from './dialect.js';

export function refuse(message: string): Refusal {
  return new Refusal(400, message, 'invalid_request_error');
}

export function checkNoExtras(value: Fields, allowed: ReadonlySet<string>, at: string): void {
  for (const field of Object.keys(value)) {
    if (!allowed.has(field)) throw refuse(`${at}${field}: Extra inputs are not permitted`);
  }
}

export function checkString(value: unknown, at: string): asserts value is string {
  if (value === undefined) throw refuse(`${at}: Field required`);
  if (typeof value !== 'string') throw refuse(`${at}: Input should be a valid string`);
}

export function checkList(value: unknown, at: string): asserts value is unknown[] {
  if (value === undefined) throw refuse(`${at}: Field required`);
  if (!Array.isArray(value)) throw refuse(`${at}: Input should be a valid list`);
}

export function checkFields(value: unknown, at: string): asserts value is Fields {
  if (value === undefined) throw refuse(`${at}: Field required`);
  if (!isFields(value)) throw refuse(`${at}: Input should be a valid dictionary`);
}

export function checkInteger(value: unknown, at: string, min: number): asserts value is number {
  if (value === undefined) throw refuse(`${at}: Field required`);
  if (!Number.isInteger(value)) throw refuse(`${at}: Input should be a valid integer`);
  if (Number(value) < min) throw refuse(`${at}: Input should be greater than or equal to ${min}`);
}

export function checkBoolean(value: unknown, at: string): void {
  if (value !== undefined && typeof value !== 'boolean')
    throw refuse(`${at}: Input should be a valid boolean`);
}

export function checkOneOf(value: unknown, at: string, values: readonly string[]): asserts value is string {
  if (value === undefined) throw refuse(`${at}: Field required`);
  if (typeof value === 'string' && values.includes(value)) return;
  throw refuse(`${at}: Input should be ${quoted(values, ' or ')}`);
}

/** The union of shapes told apart by `type`: a content block, a source, a tool choice. */
export function checkTag(
  value: unknown,
  at: string,
  tags: readonly string[],
): asserts value is Fields & { type: string } {
  checkFields(value, at);
  if (value.type === undefined) throw refuse(`${at}.type: Field required`);
  if (typeof value.type === 'string' && tags.includes(value.type)) return;
  const found = `Input tag '${String(value.type)}' found using 'type'`;
  throw refuse(`${at}: ${found} does not match any of the expected tags: ${quoted(tags, ', ')}`);
}

function quoted(values: readonly string[], lastSeparator: string): string {
  const list = values.map((value) => `'${value}'`);
  const last = list.pop() ?? '';
  return list.length === 0 ? last : `${list.join(', ')}${lastSeparator}${last}`;
}
