import type { PresentedRequest } from '@sluice/shared/admin-api';

const COLUMNS: readonly [
  name: string,
  value: (request: PresentedRequest) => string | number | boolean | null,
][] = [
  ['id', (request) => request.id],
  ['accepted_at', (request) => request.accepted_at],
  ['settled_at', (request) => request.settled_at],
  ['workspace', (request) => request.workspace],
  ['key_id', (request) => request.key_id],
  ['route', (request) => request.route],
  ['model', (request) => request.model],
  ['status', (request) => request.status],
  ['code', (request) => request.code],
  ['count', (request) => request.count],
  ['last_at', (request) => request.last_at],
  ['provider', (request) => request.provider],
  ['provider_model', (request) => request.provider_model],
  ['user', (request) => request.user],
  ['tags', (request) => (Object.keys(request.tags).length === 0 ? '' : JSON.stringify(request.tags))],
  ['fallback_used', (request) => request.fallback_used],
  ['attempts', (request) => request.attempts.length],
  ['duration_ms', (request) => request.duration_ms],
  ['queue_ms', (request) => request.queue_ms],
  ['latency_ms', (request) => request.latency_ms],
  ['input_tokens', (request) => request.usage?.input ?? null],
  ['cached_input_tokens', (request) => request.usage?.cached_input ?? null],
  ['cache_write_tokens', (request) => request.usage?.cache_write ?? null],
  ['cache_write_1h_tokens', (request) => request.usage?.cache_write_1h ?? null],
  ['output_tokens', (request) => request.usage?.output ?? null],
  ['cost_usd', (request) => request.cost_usd],
  ['cost_picodollars', (request) => request.cost_picodollars],
  ['billed', (request) => request.billed],
  ['estimated_usd', (request) => request.estimated_usd],
  ['priced', (request) => request.priced],
  ['price_registry', (request) => request.price?.registry ?? null],
  ['reason', (request) => request.reason],
  ['allowed_output_tokens', ({ attempts }) => attempts.at(-1)?.allowed_output ?? null],
];

export const CSV_HEAD = csvLine(COLUMNS.map(([name]) => name));

export function toCsvLine(request: PresentedRequest): string {
  return csvLine(COLUMNS.map(([, value]) => value(request)));
}

/** RFC 4180. */
export function csvLine(cells: readonly (string | number | boolean | null)[]): string {
  return `${cells.map((cell) => quote(typeof cell === 'string' ? disarm(cell) : String(cell ?? ''))).join(',')}\r\n`;
}

/**
 * A spreadsheet runs a cell that begins like a formula, also one in full width. Callers choose some of these texts. A negative
 * number is none.
 */
function disarm(text: string): string {
  return /^[=+\-@＝＋－＠\t\r]/.test(text) && !/^-\d+(?:\.\d+)?$/.test(text) ? `'${text}` : text;
}

function quote(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
