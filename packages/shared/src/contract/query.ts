/** The questions that the admin api answers: the parameters of its GETs. */
import { BATCH_ENDPOINTS, BATCH_STATUSES } from './batch.js';
import { hasRealDay, timeZone } from './common.js';
import { PRICE_LISTS } from './price-lists.js';
import { SPEND_FIELDS, type SpendField } from './spend.js';
import * as s from './structs.js';

const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const DURATION = /^(\d{1,6})([smhdw])$/;
const MOMENT = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;
export const DAY = /^\d{4}-\d\d-\d\d$/;
const MOMENTS = '2027-01-31, 2027-01-31T12:00:00Z, or 15m, 24h, 7d for so long ago.';

/**
 * The time of `2026-11-15`, of `2026-11-15T09:30:00Z`, or of `90m` for 90 minutes ago. A day as a beginning is its midnight
 * (UTC). As an end it is the midnight after it, so that the day is a part of the time.
 */
export function timeOf(text: string, now: number, is: 'beginning' | 'end' = 'beginning'): number {
  const ms = durationOf(text);
  if (ms !== undefined) return now - ms;
  if (!MOMENT.test(text) || !hasRealDay(text)) return Number.NaN;
  return Date.parse(text) + (is === 'end' && DAY.test(text) ? (UNIT_MS.d ?? 0) : 0);
}

/** `90s`, `30m`, `12h`, `7d` or `2w`, in ms. Undefined: it is none of these. */
export function durationOf(text: string): number | undefined {
  const [, count, unit = ''] = DURATION.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (UNIT_MS[unit] ?? 0);
}

const moment = s.ruled<string>({ type: 'string' }, (value) => {
  const time = typeof value === 'string' ? timeOf(value, Date.now()) : Number.NaN;
  if (Number.isNaN(time))
    return 'must be a moment such as 2027-01-31 or 2027-01-31T12:00:00Z, or 15m, 24h, 7d for so long ago';
  // Neither the log in Redis nor PostgreSQL can be asked for an earlier one.
  return time < 0 ? 'must not be before 1970' : undefined;
});

/** The document says in words which texts it may be. */
function parameter<T = string>(shape: s.Shape<T>, description: string, more: s.JsonSchema = {}) {
  return s.optional(new s.Shape<T>(shape, { type: 'string', ...more, description }));
}

const text = s.textOf({ pattern: /^[^\p{Cc}]{1,256}$/u, allowed: 'a text of 1 to 256 characters' });
const amount = s.textOf({ pattern: /^\d{1,9}(?:\.\d{1,12})?$/, allowed: 'a number of 0 or more' });
const cursor = s.textOf({ pattern: /^\d{1,15}-\d{1,12}$/, allowed: 'a cursor of an earlier answer' });
const isTrue = s.choice('true', 'false');

/** A whole number that is written as a text. */
function count(rule: s.NumberRule, description: string): s.Shape<number> {
  const number = s.whole(rule);
  const coercer = (value: unknown) =>
    typeof value === 'string' ? (/^\d{1,15}$/.test(value) ? Number(value) : Number.NaN) : value;
  return new s.Shape<number>({ ...number, coercer }, { ...number.json, description });
}

const MAX_TAGS = 16;
const TAG_PAIR = /^[^\p{Cc}=]{1,64}=[^\p{Cc}]{1,512}$/u;
const tag = parameter(
  s.ruled<string[]>(
    {},
    (value) => {
      const all = value as unknown[];
      if (all.length > MAX_TAGS) return `must be at most ${MAX_TAGS} tags`;
      return all.every((each) => typeof each === 'string' && TAG_PAIR.test(each))
        ? undefined
        : 'must be a tag such as feature=search';
    },
    (value) => [value].flat(),
  ),
  'A tag such as feature=search; several when it comes several times.',
);

const workspace = parameter(text, 'Id of a workspace.');
const keyId = parameter(text, 'Id of a key.');
const user = parameter(
  s.textOf({ pattern: /^[^\p{Cc}]{1,512}$/u, allowed: 'a text of 1 to 512 characters' }),
  'The caller’s own end user.',
);
const place = {
  workspace,
  route: parameter(text, 'Name of a route.'),
  provider: parameter(text, 'Who served, or was asked last.'),
  model: parameter(text, 'What was asked for, or what was called.'),
};

const followed = {
  ...place,
  key_id: keyId,
  code: parameter(text, 'Error code, or cancelled.'),
  reason: parameter(text, 'Why it was not served, such as budget_spent.'),
  status: parameter(
    s.ruled<string>({}, (value) =>
      typeof value === 'string' && /^(?:[1-5](?:xx|\d\d)|error)$/.test(value)
        ? undefined
        : 'must be a status such as 429, 4xx for all of its kind, or error for all that were not served',
    ),
    '429, 4xx for all of its kind, or error for all that were not served.',
  ),
  tag,
  user,
  min_ms: parameter(amount, 'Took at least so long.'),
  max_ms: parameter(amount, 'Took at most so long.'),
  min_cost_usd: parameter(amount, 'Cost at least so much.'),
  max_cost_usd: parameter(amount, 'Cost at most so much.'),
  fallback: parameter(isTrue, 'Whether another entry than the first served.', isTrue.json),
};
const filters = {
  since: parameter(moment, `Ended from then on: ${MOMENTS}`),
  until: parameter(moment, `Ended before: ${MOMENTS}`),
  ...followed,
};
const logFilter = s.fields(filters);
export type LogQuery = s.Infer<typeof logFilter>;

const pageSize = s.withDefault(
  count({ min: 1, max: 200 }, 'Entries in a page, 1 to 200.').about({ default: 50 }),
  50,
);
export const SORTS = ['time', 'duration', 'cost'] as const;
const sort = s.choice(...SORTS);
export const SAVED_AS = ['jsonl', 'csv'] as const;
const savedAs = s.withDefault(s.choice(...SAVED_AS).about('jsonl or csv.'), 'jsonl');

/** Of a list that is always whole. */
export const noQuery = s.fields({});

export const requestsQuery = s.fields({
  ...filters,
  limit: pageSize,
  sort: s.withDefault(
    sort.about('By time, duration or cost; the newest, longest or most expensive first.'),
    'time',
  ),
  /** `1763220000000-0`, or with its order and a value before it: `duration:120:1763220000000-0`. */
  before: parameter(
    s.textOf({
      pattern: /^(?:[a-z]+:\d{1,18}:)?\d{1,15}-\d{1,12}$/,
      allowed: 'a cursor of an earlier answer',
    }),
    'Cursor: the next_before of the page before.',
  ),
});
export const followQuery = s.fields({
  ...followed,
  after: parameter(cursor, 'Cursor: go on after this entry.'),
});
export const requestsExportQuery = s.fields({ ...filters, format: savedAs });

export const modelsQuery = s.fields({
  provider: s.optional(
    s.choice(...PRICE_LISTS).about('Only this price list, with what comes with the gateway for it.'),
  ),
});

const MAX_FIELDS = 8;
const TAG_FIELD = /^tag:[^\p{Cc},]{1,64}$/u;
const field = s.choice(...SPEND_FIELDS);
/** Names of fields with commas between them. */
const by = new s.Shape<SpendField[]>(
  {
    type: 'by',
    schema: null,
    coercer: (value) => (typeof value === 'string' ? [...new Set(value.split(','))] : ['']),
    validator(given, context) {
      const names = given as string[];
      if (names.length > MAX_FIELDS)
        return s.toFailure({ message: `must be at most ${MAX_FIELDS} fields` }, context);
      const wrong = names.find((name) => !TAG_FIELD.test(name) && !field.is(name));
      return wrong === undefined || field.validator(wrong, context);
    },
  },
  {},
);

// Date.UTC takes the years 0 to 99 for 1900 to 1999.
const month = s.textOf({ pattern: /^[12]\d{3}-(?:0[1-9]|1[0-2])$/, allowed: 'a month such as 2026-11' });
function zone(description: string): s.Shape<string> {
  return s.withDefault(new s.Shape<string>(timeZone, { type: 'string', description }), 'UTC');
}

export const spendQuery = s.fields(
  {
    since: parameter(moment, `First day: ${MOMENTS} Default: 29 days before until.`),
    until: parameter(moment, `Last day: ${MOMENTS} Default: today.`),
    month: parameter(month, 'A calendar month such as 2026-11, in the place of since and until.'),
    tz: zone('Whose days they are, such as Europe/Berlin. Default: UTC.'),
    by: s.withDefault(
      by.about({
        type: 'string',
        description:
          'Any of workspace, key, route, provider, model, end_user, day, month, tag:<name>, with commas. Default: workspace.',
      }),
      'workspace',
    ),
    top: s.optional(
      count(
        { min: 1, max: 9999 },
        'Rows for this many of the most expensive groups only; the rest is summed in others.',
      ),
    ),
    key_id: keyId,
    user,
    tag,
    ...place,
    format: s.withDefault(
      s.choice('json', 'jsonl', 'csv', 'focus').about('json, jsonl, csv, or focus for FOCUS 1.2.'),
      'json',
    ),
  },
  {
    *check({ since, until, month, tz, format }) {
      if (month !== undefined && (since !== undefined || until !== undefined))
        yield { at: 'month', message: 'goes without since and until' };
      if (format === 'focus' && tz !== 'UTC')
        yield { at: 'tz', message: 'must be UTC for focus, because its lines are for days of UTC' };
    },
  },
);
export type SpendQuery = s.Infer<typeof spendQuery>;

export const statementQuery = s.fields({
  month: parameter(month, 'Such as 2026-11. Default: this month.'),
  tz: zone('Whose months they are, such as Europe/Berlin. Default: UTC.'),
  format: s.withDefault(
    s.choice('json', 'csv', 'html').about('json, csv, or html for a page to print.'),
    'json',
  ),
});

export const budgetsQuery = s.fields({
  limit: s.withDefault(count({ min: 1, max: 9999 }, 'At most so many. Default: 100.'), 100),
});
export const deliveriesQuery = s.fields({
  limit: s.withDefault(count({ min: 1, max: 1000 }, 'At most so many, up to 1000. Default: 100.'), 100),
});

const until = parameter(moment, `The end: ${MOMENTS} Default: now.`);
const sumsFor = s.choice('entry', 'provider');
export const attemptsQuery = s.fields({
  since: parameter(moment, 'From a minute to a day before until, such as 15m.'),
  until,
  by: s.withDefault(sumsFor.about({ default: 'entry', description: 'What the sums are for.' }), 'entry'),
  workspace: parameter(text, 'Only this workspace.'),
  route: parameter(text, 'Only this route.'),
});
export const trafficQuery = s.fields({
  since: parameter(moment, `From a minute to a day before until: ${MOMENTS} Default: 15m.`),
  until,
});
export const refusalsQuery = s.fields({
  since: parameter(moment, `From a minute to two days ago: ${MOMENTS} Default: 24h.`),
  until,
  workspace,
  key_id: keyId,
  reason: parameter(text, 'Such as unknown_model.'),
});

const batchStatus = s.choice(...BATCH_STATUSES);
export const quoteQuery = s.fields({
  endpoint: s.withDefault(s.choice(...BATCH_ENDPOINTS), '/v1/chat/completions'),
});

export const batchesQuery = s.fields({
  workspace,
  status: parameter(batchStatus, 'How it stands.', batchStatus.json),
  search: parameter(text, 'A part of its id, of the id of its file, or of its metadata, such as its name.'),
});

export const takeOverQuery = s.fields({
  take_over: s.withDefault(
    isTrue.about(
      'Whether it may have the name of one of gateway.yaml, and take its place when the file no longer has it.',
    ),
    'false',
  ),
});

export const directoryQuery = s.fields({
  keys: s.withDefault(isTrue.about('false: without the keys.'), 'true'),
});
export const eraseQuery = s.fields({
  erase: s.withDefault(isTrue.about('Whether its log entries and ledger rows go too.'), 'false'),
});

export const AUDIT_KINDS = ['changes', 'sign_ins'] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];
const pathText = s.textOf({
  pattern: /^\/[^\p{Cc}]{1,1023}$/u,
  allowed: 'a path of at most 1024 characters',
});
const kind = s.withDefault(
  s.choice(...AUDIT_KINDS).about('changes or sign_ins. Default: changes.'),
  'changes',
);
export const auditQuery = s.fields({
  kind,
  limit: pageSize,
  before: parameter(cursor, 'Cursor: the next_before of the page before.'),
  path: parameter(pathText, 'Only changes at this path, such as /workspaces/demo/routes/fast.'),
  search: parameter(text, 'A part of the path or of the name of the person.'),
});
export const auditExportQuery = s.fields({ kind, format: savedAs });
