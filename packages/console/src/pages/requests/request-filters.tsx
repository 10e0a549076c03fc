import type { DirectoryOverview } from '@sluice/shared/admin-api';
import { ALL_REASONS } from '@sluice/shared/reasons';
import { useMemo, useState } from 'preact/hooks';
import { goTo } from '../../location.js';
import { Between, lastHour } from '../../ui/between.js';
import { Field, Select } from '../../ui/field.js';
import { Pick } from '../../ui/pick.js';

export const FILTERS = [
  'since',
  'until',
  'workspace',
  'route',
  'provider',
  'model',
  'status',
  'code',
  'reason',
  'key_id',
  'tag',
  'user',
  'fallback',
  'min_ms',
  'min_cost_usd',
  'sort',
] as const;

const BETWEEN = 'between';

const SINCE = [
  ['', 'All there is'],
  ['15m', 'Last 15 minutes'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  [BETWEEN, 'Between two times'],
] as const;

const SORTS = [
  ['', 'Newest first'],
  ['duration', 'Longest first'],
  ['cost', 'Dearest first'],
] as const;

const FALLBACK = [
  ['', 'Any'],
  ['true', 'Served by a fallback'],
  ['false', 'Not by a fallback'],
] as const;

/** These are behind a click. */
const MORE = [
  'provider',
  'model',
  'code',
  'reason',
  'key_id',
  'tag',
  'user',
  'fallback',
  'min_ms',
  'min_cost_usd',
];

const MAX_KEYS = 500;

const STATUS = [
  ['', 'Any'],
  ['2xx', 'Served'],
  ['error', 'Not served'],
  ['4xx', 'Refused (4xx)'],
  ['5xx', 'Failed (5xx)'],
  ['429', '429'],
  ['499', 'Caller hung up'],
] as const;

const CODES = [
  'budget_exceeded',
  'cancelled',
  'internal_error',
  'invalid_request',
  'model_not_found',
  'provider_error',
  'provider_outcome_unknown',
  'provider_timeout',
  'provider_unavailable',
  'rate_limited',
  'service_unavailable',
];

export interface RequestChoices {
  directory: DirectoryOverview;
  providers: string[];
}

interface RequestFiltersProps {
  query: Readonly<Record<string, string>>;
  choices: RequestChoices | undefined;
  onChange(change: Record<string, string>): void;
}

export function RequestFilters({ query, choices, onChange }: RequestFiltersProps) {
  const workspaces = useMemo(() => choices?.directory.workspaces.map(({ id }) => id) ?? [], [choices]);
  const routes = useMemo(() => routeNames(choices?.directory, query.workspace), [choices, query.workspace]);
  const pick = (name: string, label: string, values: readonly string[]) => (
    <Pick
      label={label}
      value={query[name] ?? ''}
      values={values}
      none="Any"
      onChange={(value) => onChange({ [name]: value })}
    />
  );
  const select = (name: string, label: string, values: readonly string[]) => (
    <Select
      label={label}
      value={query[name] ?? ''}
      choices={withAny(values, query[name])}
      onChange={(value) => onChange({ [name]: value })}
    />
  );
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <Select
        label="Time"
        value={query.until ? BETWEEN : (query.since ?? '')}
        choices={listed(SINCE, query.until ? BETWEEN : query.since)}
        onChange={(since) => onChange(since === BETWEEN ? { ...lastHour() } : { since, until: '' })}
      />
      {query.until && <Between between={query} onChange={(between) => onChange({ ...between })} />}
      {pick('workspace', 'Workspace', workspaces)}
      {pick('route', 'Route', routes)}
      <Select
        label="Status"
        value={query.status ?? ''}
        choices={listed(STATUS, query.status)}
        onChange={(status) => onChange({ status })}
      />
      <Select
        label="Order"
        value={query.sort ?? ''}
        choices={listed(SORTS, query.sort)}
        onChange={(sort) => onChange({ sort })}
      />
      <FindById query={query} />
      <details class="more-filters" open={MORE.some((name) => query[name])}>
        <summary>More filters</summary>
        <div class="filters">
          {select('provider', 'Provider', choices?.providers ?? [])}
          <Field
            label="Model"
            value={query.model ?? ''}
            onInput={(model) => onChange({ model })}
            placeholder="gpt-4o"
          />
          {select('code', 'Code', CODES)}
          {select('reason', 'Reason', ALL_REASONS)}
          <TagFilter tag={query.tag ?? ''} onChange={(tag) => onChange({ tag })} />
          <Field
            label="End user"
            value={query.user ?? ''}
            onInput={(user) => onChange({ user })}
            placeholder="customer-42"
          />
          <KeyFilter query={query} choices={choices} onChange={onChange} />
          <Select
            label="Fallback"
            value={query.fallback ?? ''}
            choices={listed(FALLBACK, query.fallback)}
            onChange={(fallback) => onChange({ fallback })}
          />
          <AmountFilter
            label="Took at least, ms"
            value={query.min_ms ?? ''}
            onChange={(min_ms) => onChange({ min_ms })}
          />
          <AmountFilter
            label="Cost at least, USD"
            value={query.min_cost_usd ?? ''}
            onChange={(min_cost_usd) => onChange({ min_cost_usd })}
          />
        </div>
      </details>
    </form>
  );
}

/** Keys of one name are told apart by their last four characters. */
function KeyFilter({ query, choices, onChange }: RequestFiltersProps) {
  const keys = (choices?.directory.keys ?? []).filter(
    ({ workspace }) => !query.workspace || workspace === query.workspace,
  );
  const named = keys
    .slice(0, MAX_KEYS)
    .map(({ id, name, last_four, workspace }) => [id, `${workspace}: ${name} …${last_four}`] as const);
  return (
    <Select
      label="Key"
      value={query.key_id ?? ''}
      choices={listed([['', 'Any'], ...named], query.key_id)}
      onChange={(key_id) => onChange({ key_id })}
    />
  );
}

/** A filter as soon as it is a number. */
function AmountFilter({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange(value: string): void;
}) {
  const [text, setText] = useState(value);
  const isNumber = /^\d{1,9}(\.\d{1,12})?$/.test(text);
  return (
    <Field
      label={label}
      value={text}
      inputMode="decimal"
      mistake={text === '' || isNumber ? undefined : 'A number'}
      onInput={(typed) => {
        setText(typed);
        const wanted = /^\d{1,9}(\.\d{1,12})?$/.test(typed) ? typed : '';
        if (wanted !== value) onChange(wanted);
      }}
    />
  );
}

/** What is typed is a filter as soon as it is a name and a value. */
function TagFilter({ tag, onChange }: { tag: string; onChange(tag: string): void }) {
  const [text, setText] = useState(tag);
  return (
    <Field
      label="Tag"
      value={text}
      placeholder="feature=search"
      onInput={(typed) => {
        setText(typed);
        const wanted = /^[^=]+=.+$/.test(typed) ? typed : '';
        if (wanted !== tag) onChange(wanted);
      }}
    />
  );
}

/** A request by the x-request-id that its caller got. */
function FindById({ query }: { query: Readonly<Record<string, string>> }) {
  const [id, setId] = useState('');
  return (
    <Field
      label="Request id"
      type="search"
      value={id}
      placeholder="req_…"
      onInput={(value) => {
        setId(value);
        if (/^req_[\w-]{20}$/.test(value.trim())) goTo({ page: 'requests', item: value.trim(), query });
      }}
    />
  );
}

function routeNames(directory: DirectoryOverview | undefined, workspace: string | undefined): string[] {
  const routes = directory?.routes.filter((route) => !workspace || route.workspace === workspace) ?? [];
  return [...new Set(routes.map(({ id }) => id))].sort();
}

function withAny(values: readonly string[], current: string | undefined): (readonly [string, string])[] {
  const all = new Set([...values, ...(current ? [current] : [])]);
  return [['', 'Any'], ...[...all].sort().map((each) => [each, each] as const)];
}

/** The address may hold a value that is not listed: `since=3h` is a good filter, too. */
function listed(
  choices: readonly (readonly [string, string])[],
  current: string | undefined,
): (readonly [string, string])[] {
  const isListed = choices.some(([value]) => value === (current ?? ''));
  return isListed ? [...choices] : [...choices, [current ?? '', current ?? '']];
}
