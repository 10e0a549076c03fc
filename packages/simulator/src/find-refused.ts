import { type Fields, isFields, type ProviderName } from './dialect.js';
import { at, given, REFUSED_FIELDS, type RefusedField } from './refused-fields.js';

export interface Found {
  row: RefusedField;
  message: string;
  param: string | null;
}

/** The first row of the table that refuses the body, which has the right format. */
export function findRefused(provider: ProviderName, body: Fields): Found | undefined {
  for (const row of REFUSED_FIELDS[provider]) {
    for (const place of placesOf(row.field, body)) {
      if (!given(place.value) || row.models?.test(String(body.model)) === false) continue;
      if (row.refuses?.(place.value, body) === false) continue;
      const fill = (text: string) => fillIn(text, { ...place, model: body.model, field: row.field });
      const message = fill(typeof row.says === 'string' ? row.says : row.says(body));
      return { row, message, param: row.param === undefined ? null : fill(row.param) };
    }
  }
  return undefined;
}

interface Place {
  value: unknown;
  /** Of a message. */
  i?: number;
  role?: unknown;
}

function placesOf(path: string, body: Fields): Place[] {
  const [, which, field] = /^messages\[(-1)?\]\.(\w+)$/.exec(path) ?? [];
  if (field === undefined) return [{ value: at(body, path) }];
  const messages = Array.isArray(body.messages) ? body.messages.filter(isFields) : [];
  const places = messages.map((message, i) => ({ value: message[field], i, role: message.role }));
  return which === undefined ? places : places.slice(-1);
}

function fillIn(text: string, values: Fields): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => shown(values[name]));
}

/** Of tool calls, the id of the first. */
function shown(value: unknown): string {
  const [call]: unknown[] = Array.isArray(value) ? value : [];
  if (isFields(call) && typeof call.id === 'string') return call.id;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
