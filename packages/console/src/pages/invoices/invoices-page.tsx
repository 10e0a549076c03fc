import type {
  ProviderInfo,
  ReconciledRow,
  Reconciliation,
  ReconciliationList,
  ReconciliationSummary,
} from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { count, counted, moment } from '../../format.js';
import { formatPlace, goTo, type Place } from '../../location.js';
import { useMay } from '../../permissions.js';
import { Page } from '../../ui/page.js';
import { Badge, Choice, Empty, Notice, type Tone, Waiting } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { usePoll } from '../../use-poll.js';
import { CompareForm } from './compare-form.js';

const EVERY_MS = 30_000;

/** `#/invoices` lists what was compared, `#/invoices/<provider>/<month>` is one comparison. */
export function InvoicesPage({ place }: { place: Place }) {
  const may = useMay();
  const providers = usePoll('providers', 0, (client, signal) =>
    client.get<{ data: ProviderInfo[] }>('/providers', signal),
  );
  const [version, setVersion] = useState(0);
  const open = ({ provider, month }: ReconciliationSummary) => {
    setVersion((number) => number + 1);
    goTo({ page: 'invoices', item: `${provider}/${month}` });
  };
  const names = (providers.data?.data ?? []).map(({ name }) => name);
  return (
    <Page
      title="Invoices"
      intro="What providers bill, beside what the gateway has booked, by model and UTC day."
    >
      {may('admin') && names.length > 0 && <CompareForm providers={names} onDone={open} />}
      {place.item === undefined ? <All key={version} /> : <One key={version} item={place.item} />}
    </Page>
  );
}

function All() {
  const all = usePoll('reconciliations', EVERY_MS, (client, signal) =>
    client.get<ReconciliationList>('/reconciliations', signal),
  );
  if (!all.data) return <Waiting polled={all} />;
  if (all.data.data.length === 0)
    return (
      <Empty title="Nothing has been compared yet.">
        OpenAI and Anthropic export their costs as CSV or JSON. <code>sluice reconcile</code> takes such a
        file, too.
      </Empty>
    );
  const columns: Column<ReconciliationSummary>[] = [
    {
      id: 'month',
      label: 'Provider and month',
      head: true,
      cell: ({ provider, month }) => (
        <a href={formatPlace({ page: 'invoices', item: `${provider}/${month}` })}>
          {provider} {month}
        </a>
      ),
    },
    { id: 'ours', label: 'Ours', numeric: true, cell: ({ total }) => total.ours_usd },
    { id: 'adjusted', label: 'Adjusted', numeric: true, cell: ({ total }) => total.adjusted_usd },
    { id: 'theirs', label: 'Theirs', numeric: true, cell: ({ total }) => total.theirs_usd },
    { id: 'drift', label: 'Drift', numeric: true, cell: ({ total }) => driftOf(total) },
    { id: 'when', label: 'Compared', cell: ({ made_at, made_by }) => `${moment(made_at)} ${made_by ?? ''}` },
  ];
  return (
    <Table
      caption="Reconciliations"
      columns={columns}
      rows={all.data.data}
      rowKey={({ provider, month }) => `${provider} ${month}`}
    />
  );
}

const TONES: Readonly<Record<ReconciledRow['status'], Tone>> = {
  matched: 'good',
  drift: 'warn',
  ours_only: 'bad',
  theirs_only: 'bad',
};

const COLUMNS: readonly Column<ReconciledRow>[] = [
  { id: 'day', label: 'Day', head: true, cell: ({ day }) => day, sort: ({ day }) => day },
  {
    id: 'model',
    label: 'Model',
    cell: ({ model }) => <span class="name">{model}</span>,
    sort: ({ model }) => model,
  },
  {
    id: 'status',
    label: 'Status',
    cell: ({ status }) => <Badge tone={TONES[status]}>{status.replace('_', ' ')}</Badge>,
    sort: ({ status }) => status,
  },
  { id: 'requests', label: 'Requests', numeric: true, cell: ({ requests }) => count(requests) },
  { id: 'ours', label: 'Ours', numeric: true, cell: ({ ours_usd }) => ours_usd },
  { id: 'adjusted', label: 'Adjusted', numeric: true, cell: ({ adjusted_usd }) => adjusted_usd },
  { id: 'theirs', label: 'Theirs', numeric: true, cell: ({ theirs_usd }) => theirs_usd },
  {
    id: 'drift',
    label: 'Drift',
    numeric: true,
    cell: driftOf,
    sort: ({ drift_usd }) => Math.abs(Number(drift_usd)),
  },
  {
    id: 'why',
    label: 'What explains it',
    cell: ({ explanations }) => explanations.map(({ usd, text }) => `${usd}: ${text}`).join(' '),
  },
];

const CHOICES = [
  ['differing', 'What differs'],
  ['all', 'All'],
] as const;
type Shown = (typeof CHOICES)[number][0];

function One({ item }: { item: string }) {
  const [shown, setShown] = useState<Shown>('differing');
  const [provider = '', month = ''] = item.split('/');
  const one = usePoll(item, 0, (client, signal) =>
    client.get<Reconciliation>(
      `/reconciliations/${encodeURIComponent(provider)}/${encodeURIComponent(month)}`,
      signal,
    ),
  );
  if (!one.data) return <Waiting polled={one} />;
  const { data, total, missing_days: missing, doubled, made_at: at, made_by: by } = one.data;
  const rows = shown === 'all' ? data : data.filter(({ status }) => status !== 'matched');
  return (
    <section aria-labelledby="one">
      <h2 id="one">
        {provider} {month}{' '}
        <span class="muted">
          compared {moment(at)} {by === null ? '' : `by ${by}`}
        </span>
      </h2>
      <p>
        Ours {total.ours_usd}, adjusted {total.adjusted_usd}, theirs {total.theirs_usd}, drift{' '}
        {driftOf(total)} USD. Of {counted(data.length, 'day and model', 'days and models')}{' '}
        {count(total.matched)} agree.
        {total.settled > 0 && ` ${counted(total.settled, 'adjustment')} of ${total.settled_usd} USD made.`}
      </p>
      {missing.length > 0 && (
        <Notice tone="warn">The file has no line of {missing.join(', ')}: nothing is settled there.</Notice>
      )}
      {doubled.map((line) => (
        <Notice key={`${line.day} ${line.model} ${line.usd}`} tone="warn">
          The file has a line {count(line.times)} times, which counts once: {line.day} {line.model} {line.usd}{' '}
          USD.
        </Notice>
      ))}
      <Choice label="Rows" value={shown} choices={CHOICES} onChange={(value) => setShown(value)} />
      {rows.length === 0 ? (
        <Empty title="Both sides agree." />
      ) : (
        <Table
          caption="Days and models"
          columns={COLUMNS}
          rows={rows}
          rowKey={({ day, model }) => `${day} ${model}`}
        />
      )}
    </section>
  );
}

function driftOf({
  drift_usd: usd,
  drift_percent: share,
}: Pick<ReconciledRow, 'drift_usd' | 'drift_percent'>): string {
  return share === null || Number(usd) === 0 ? usd : `${usd} (${share} %)`;
}
