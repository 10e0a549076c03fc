import { type ConfigReader, isAbsent } from '@sluice/shared/config/reader';
import type { LogEntry } from '@sluice/shared/queue/request-log';
import { readMoment } from './read-moment.js';

export interface LogFilter {
  /** When the request ended: from this moment on, and before that one. Redis time, in ms. */
  since?: number | undefined;
  until?: number | undefined;
  workspace?: string | undefined;
  /** Those that whoever asks may look into; undefined: all. */
  workspaces?: ReadonlySet<string> | undefined;
  route?: string | undefined;
  provider?: string | undefined;
  /** What the caller asked for, or what was called. */
  model?: string | undefined;
  key?: string | undefined;
  code?: string | undefined;
  /** `429`, or `4xx` for 400 to 499. */
  status?: { from: number; to: number } | undefined;
}

export const FILTER_FIELDS = [
  'since',
  'until',
  'workspace',
  'route',
  'provider',
  'model',
  'key_id',
  'code',
  'status',
] as const;

const TEXT = { pattern: /^[^\p{Cc}]{1,256}$/u, allowed: 'a text of 1 to 256 characters' };

export function readLogFilter(
  reader: ConfigReader,
  query: Readonly<Record<string, unknown>> | undefined,
  now: number,
): LogFilter {
  const text = (name: string) => (isAbsent(query?.[name]) ? undefined : reader.text(query[name], name, TEXT));
  const since = readMoment(reader, query?.since, 'since', now);
  const until = readMoment(reader, query?.until, 'until', now);
  if (since !== undefined && until !== undefined && since > until)
    reader.fault('since', 'must not be after until');
  return {
    since,
    until,
    workspace: text('workspace'),
    route: text('route'),
    provider: text('provider'),
    model: text('model'),
    key: text('key_id'),
    code: text('code'),
    status: readStatus(reader, query?.status),
  };
}

function readStatus(reader: ConfigReader, value: unknown): LogFilter['status'] {
  if (isAbsent(value)) return undefined;
  const [, first, rest] = (typeof value === 'string' && /^([1-5])(xx|\d\d)$/.exec(value)) || [];
  if (first === undefined) {
    reader.fault('status', 'must be a status such as 429, or 4xx for all of its kind');
    return undefined;
  }
  const from = Number(first) * 100 + (rest === 'xx' ? 0 : Number(rest));
  return { from, to: rest === 'xx' ? from + 99 : from };
}

/** Who served the request, or was asked last. */
export function lastCall({ served, attempts }: LogEntry): { provider: string | null; model: string | null } {
  const last = served ?? attempts.at(-1);
  return { provider: last?.provider ?? null, model: last?.model ?? null };
}

/** Everything but the time, which is the log's own. */
export function matches(entry: LogEntry, filter: LogFilter): boolean {
  const { provider, model } = lastCall(entry);
  return (
    (filter.workspace === undefined || filter.workspace === entry.workspace) &&
    (filter.workspaces === undefined || filter.workspaces.has(entry.workspace)) &&
    (filter.route === undefined || filter.route === entry.route) &&
    (filter.provider === undefined || filter.provider === provider) &&
    (filter.model === undefined || filter.model === entry.model || filter.model === model) &&
    (filter.key === undefined || filter.key === entry.keyId) &&
    (filter.code === undefined || filter.code === entry.code) &&
    (filter.status === undefined || (entry.status >= filter.status.from && entry.status <= filter.status.to))
  );
}
