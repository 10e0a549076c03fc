import type { DirectoryOverview } from '@sluice/shared/admin-api';
import { useMemo, useState } from 'preact/hooks';
import { goTo } from '../../location.js';
import { Field, Select } from '../../ui/field.js';
import { Pick } from '../../ui/pick.js';

export const FILTERS = [
  'since',
  'workspace',
  'route',
  'provider',
  'model',
  'status',
  'code',
  'key_id',
  'tag',
  'user',
  'sort',
] as const;

const SINCE = [
  ['', 'All there is'],
  ['15m', 'Last 15 minutes'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
] as const;

const SORTS = [
  ['', 'Newest first'],
  ['duration', 'Longest first'],
  ['cost', 'Dearest first'],
] as const;

const STATUS = [
  ['', 'Any'],
  ['2xx', 'Served'],
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

interface RequestFiltersProps {
  query: Readonly<Record<string, string>>;
  choices: { directory: DirectoryOverview; providers: string[] } | undefined;
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
        value={query.since ?? ''}
        choices={listed(SINCE, query.since)}
        onChange={(since) => onChange({ since })}
      />
      {pick('workspace', 'Workspace', workspaces)}
      {pick('route', 'Route', routes)}
      {select('provider', 'Provider', choices?.providers ?? [])}
      <Field
        label="Model"
        value={query.model ?? ''}
        onInput={(model) => onChange({ model })}
        placeholder="gpt-4o"
      />
      <Select
        label="Status"
        value={query.status ?? ''}
        choices={listed(STATUS, query.status)}
        onChange={(status) => onChange({ status })}
      />
      {select('code', 'Code', CODES)}
      <TagFilter tag={query.tag ?? ''} onChange={(tag) => onChange({ tag })} />
      <Field
        label="End user"
        value={query.user ?? ''}
        onInput={(user) => onChange({ user })}
        placeholder="customer-42"
      />
      <Select
        label="Order"
        value={query.sort ?? ''}
        choices={listed(SORTS, query.sort)}
        onChange={(sort) => onChange({ sort })}
      />
      <FindById query={query} />
    </form>
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
        const wish = /^[^=]+=.+$/.test(typed) ? typed : '';
        if (wish !== tag) onChange(wish);
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
