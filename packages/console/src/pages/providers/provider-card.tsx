import type {
  LimitUse,
  PresentedRequest,
  ProviderInfo,
  ProviderKeyInfo,
  ProviderStatus,
  ProviderVerdict,
} from '@sluice/shared/admin-api';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import { ago, count, duration, percent } from '../../format.js';
import { formatPlace } from '../../location.js';
import { useMay } from '../../permissions.js';
import { stateOf } from '../../provider-state.js';
import { Badge, Bar, explainFailure, Notice, type Tone } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { useAction } from '../../ui/use-action.js';
import { KeyActions } from './key-actions.js';
import { ProviderActions, TakeOver } from './provider-actions.js';

interface ProviderCardProps {
  provider: ProviderInfo;
  status: ProviderStatus | undefined;
  /** The latest request that failed here. */
  failure: PresentedRequest | undefined;
  /** Whether providers may be added beside the file. */
  canAdd: boolean;
  onChanged(): void;
}

export function ProviderCard({ provider, status, failure, canAdd, onChanged }: ProviderCardProps) {
  const { name, kind, address, prices, keys } = provider;
  const may = useMay();
  const state = stateOf(status);
  const limits = [
    ...provider.limits.map((limit) => ({ key: '', ...limit })),
    ...keys.flatMap((key) => key.limits.map((limit) => ({ key: key.name, ...limit }))),
  ];
  const mayChange = may('admin') && provider.source === 'added';
  const actions: Column<ProviderKeyInfo> = {
    id: 'actions',
    label: 'Actions',
    cell: (key) => <KeyActions provider={provider} name={key.name} onDone={onChanged} />,
  };
  const keyColumns = mayChange ? [...KEY_COLUMNS, actions] : KEY_COLUMNS;
  return (
    <article class="card stack" aria-label={`Provider ${name}`}>
      <h2>
        <span class="name">{name}</span> <span class="muted">{kind}</span>{' '}
        {status && <Badge tone={state.tone}>{state.text}</Badge>}
      </h2>
      <p class="muted">
        <code>{address}</code>, {keySource(provider)},{' '}
        {prices === 'free' ? 'free of charge' : `prices of ${prices}`}.
      </p>
      {provider.file && <FilePlace file={provider.file} />}
      {status && <Load status={status} />}
      {keys.length > 0 && (
        <Table caption={`Keys of ${name}`} columns={keyColumns} rows={keys} rowKey={(key) => key.name} />
      )}
      {limits.length > 0 && (
        <Table
          caption={`Limits per minute of ${name}`}
          columns={keys.length > 0 ? LIMIT_COLUMNS : LIMIT_COLUMNS.filter(({ id }) => id !== 'key')}
          rows={limits}
          rowKey={({ key, models, type }) => `${key} ${models} ${type}`}
        />
      )}
      <LastFailure failure={failure} />
      {may('operator') && (
        <TestButton provider={name}>
          {mayChange && <ProviderActions provider={provider} onDone={onChanged} />}
          {may('admin') && canAdd && provider.source === 'file' && (
            <TakeOver provider={provider} onDone={onChanged} />
          )}
        </TestButton>
      )}
    </article>
  );
}

function keySource({ credentials, source, keys }: ProviderInfo) {
  if (credentials === 'none') return 'called without a key';
  if (source === 'added') return keys.length > 0 ? 'keys stored here' : 'key stored here';
  return (
    <>
      key from <code>{credentials}</code>
    </>
  );
}

function FilePlace({ file: { path, line, taken_over } }: { file: NonNullable<ProviderInfo['file']> }) {
  const isDefault = line === null;
  const place = `line ${line} of ${path}`;
  if (!taken_over)
    return (
      <p class="muted small-print">
        {isDefault ? 'There by default: gateway.yaml names no providers.' : `Set up in the file: ${place}.`}
      </p>
    );
  return (
    <Notice tone="info">
      An added provider with this name waits.{' '}
      {isDefault ? 'Name others in gateway.yaml' : `Take this one out of the file (${place})`}: the added one
      is in force a second later, without a restart.
    </Notice>
  );
}

function Load({ status }: { status: ProviderStatus }) {
  const { active, concurrency, concurrency_change: change, waiting, parked, max_backlog } = status;
  const { found_limits: found } = status;
  return (
    <p>
      {count(active)} of {count(concurrency)} calls under way, {count(waiting)} of {count(max_backlog)}{' '}
      requests wait
      {parked > 0 && <>, {count(parked)} of them for a limit per minute</>}.
      {change && <> The gateway found this limit of calls itself: {concurrencyWords(change)}.</>}
      {found.map(({ key, model, type, limit, reason, at }) => (
        <span key={`${key} ${model} ${type}`}>
          {' '}
          It found a limit of {count(limit)} {TYPES[type]} a minute for {model}: {LIMIT_CHANGES[reason]}{' '}
          {ago(at)}.
        </span>
      ))}
    </p>
  );
}

const CONCURRENCY_CHANGES = {
  start: 'not tried higher yet',
  demand: 'raised, because no call was refused and more were asked for,',
  refused: 'lowered, because the provider said that too many ran at a time,',
  overloaded: 'lowered, because the provider had no capacity,',
} as const;

const LIMIT_CHANGES = {
  demand: 'raised, because calls went well and more were asked for,',
  refused: 'set, because the provider refused a call,',
} as const;

function concurrencyWords({ reason, at }: NonNullable<ProviderStatus['concurrency_change']>): string {
  const words = CONCURRENCY_CHANGES[reason];
  return reason === 'start' ? words : `${words} ${ago(at)}`;
}

const KEY_STATES: Record<ProviderKeyInfo['state'], [Tone, string]> = {
  open: ['good', 'open'],
  limited: ['warn', 'left alone after a 429'],
  refused: ['bad', 'refused by the provider'],
};

const KEY_COLUMNS: readonly Column<ProviderKeyInfo>[] = [
  { id: 'name', label: 'Key', head: true, cell: ({ name }) => <span class="name">{name}</span> },
  {
    id: 'state',
    label: 'State',
    cell: ({ state, until }) => {
      const [tone, text] = KEY_STATES[state];
      const left = until === null ? 0 : Date.parse(until) - Date.now();
      return (
        <Badge tone={tone}>
          {text}
          {left > 0 && `, ${duration(left)}`}
        </Badge>
      );
    },
  },
  { id: 'active', label: 'Calls under way', numeric: true, cell: ({ active }) => count(active) },
  {
    id: 'weight',
    label: 'Weight',
    numeric: true,
    cell: ({ weight }) => (weight === null ? 'the least busy' : count(weight)),
  },
];

const TYPES: Record<LimitUse['type'], string> = {
  requests: 'requests',
  tokens: 'tokens',
  input_tokens: 'input tokens',
  output_tokens: 'output tokens',
};

const SOURCES: Record<LimitUse['source'], string> = {
  set: '',
  announced: ', as the provider says',
  found: ', as is found',
};

const LIMIT_COLUMNS: readonly Column<LimitUse & { key: string }>[] = [
  { id: 'key', label: 'Key', cell: ({ key }) => (key === '' ? 'all' : key) },
  { id: 'models', label: 'Models', cell: ({ models }) => models ?? 'all' },
  {
    id: 'limit',
    label: 'A minute',
    head: true,
    cell: ({ type, limit, source }) => `${count(limit)} ${TYPES[type]}${SOURCES[source]}`,
  },
  {
    id: 'used',
    label: 'Used',
    cell: ({ used, limit }) => (
      <span class="over-bar">
        <span class="number">
          {count(used)}, {percent(used, limit)}
        </span>
        <Bar value={used} max={limit} tone={used >= limit ? 'warn' : 'info'} />
      </span>
    ),
  },
];

function LastFailure({ failure }: { failure: PresentedRequest | undefined }) {
  if (!failure) return <p class="muted small-print">No request failed here in the last day.</p>;
  return (
    <p class="small-print">
      The latest request that failed here, {ago(failure.accepted_at)}:{' '}
      <a href={formatPlace({ page: 'requests', item: failure.id })}>{failure.code}</a>
    </p>
  );
}

interface TestButtonProps {
  provider: string;
  /** Further buttons in the same row. */
  children: ComponentChildren;
}

/** A worker makes one real call of a few tokens. */
function TestButton({ provider, children }: TestButtonProps) {
  const action = useAction();
  const [verdict, setVerdict] = useState<ProviderVerdict | undefined>();
  const test = () => {
    setVerdict(undefined);
    return action.run(async (client) => {
      setVerdict(await client.send<ProviderVerdict>('POST', path`/providers/${provider}/test`, {}));
    });
  };
  return (
    <>
      <div class="actions">
        <button
          type="button"
          class="small"
          // It has to begin with the words that are seen.
          aria-label={action.busy ? `Calling … ${provider}` : `Test with one call: ${provider}`}
          disabled={action.busy}
          onClick={test}
        >
          {action.busy ? 'Calling …' : 'Test with one call'}
        </button>
        {children}
      </div>
      {verdict && (
        <Notice tone={verdict.works ? 'good' : 'bad'}>
          {verdict.works
            ? `${verdict.model} answered in ${count(verdict.ms)} ms.`
            : `It does not work: ${verdict.problem}.`}
        </Notice>
      )}
      {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
    </>
  );
}
