import type { BatchView, DirectoryOverview, List } from '@sluice/shared/admin-api';
import { BATCH_STATUSES } from '@sluice/shared/contract/batch';
import { path } from '../../admin-client.js';
import { ago, count, duration, moment, NOTHING, rate, usd } from '../../format.js';
import { changeQuery, formatPlace, type Place } from '../../location.js';
import { useMay } from '../../permissions.js';
import { download } from '../../ui/download.js';
import { Field, Select } from '../../ui/field.js';
import { Page } from '../../ui/page.js';
import { Pick } from '../../ui/pick.js';
import { Bar, Empty, explainFailure, Notice, Waiting } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { useAction } from '../../ui/use-action.js';
import { usePoll } from '../../use-poll.js';
import { forecast, isUnderWay, paceOf } from './batch-forecast.js';
import { QuoteForm } from './quote-form.js';

const EVERY_MS = 3_000;
const SLOWLY_MS = 60_000;
const STATUSES = [
  ['', 'Any'],
  ...BATCH_STATUSES.map((status) => [status, status.replace('_', ' ')] as const),
] as const;

export function BatchesPage({ place }: { place: Place }) {
  const { workspace = '', status = '', search = '' } = place.query;
  const filters = Object.entries({ workspace, status, search }).filter(([, value]) => value !== '');
  const query = new URLSearchParams(filters).toString();
  const batches = usePoll(`batches ${query}`, EVERY_MS, (client, signal) =>
    client.get<List<BatchView>>(`/batches?${query}`, signal),
  );
  const directory = usePoll('workspaces', SLOWLY_MS, (client, signal) =>
    client.get<DirectoryOverview>('/directory?keys=false', signal),
  );
  const set = (name: string) => (value: string) => changeQuery(place, { [name]: value });
  const action = useAction();
  const may = useMay();
  const quotable = (directory.data?.workspaces ?? []).map(({ id }) => id).filter((id) => may('operator', id));
  const cancel = ({ workspace, id }: BatchView) =>
    action.run(async (client) => {
      await client.send('POST', path`/workspaces/${workspace}/batches/${id}/cancel`);
      batches.reload();
    });
  const save = (workspace: string, file: string) =>
    action.run(async (client) => {
      const response = await client.fetch(path`/workspaces/${workspace}/files/${file}/content`);
      download(`${file}.jsonl`, await response.blob());
    });
  const now = Date.now();
  const columns: Column<BatchView>[] = [
    {
      id: 'batch',
      label: 'Batch',
      head: true,
      cell: ({ id, metadata }) => (
        <>
          {metadata?.name && <span class="name">{metadata.name}</span>}
          <code class={metadata?.name ? 'under' : ''}>{id}</code>
        </>
      ),
    },
    { id: 'workspace', label: 'Workspace', cell: ({ workspace }) => workspace },
    { id: 'status', label: 'Status', cell: (batch) => <Status batch={batch} /> },
    {
      id: 'progress',
      label: 'Progress',
      cell: (batch) => {
        const { total, completed, failed } = batch.request_counts;
        return (
          <span class="over-bar">
            <span class="number">
              {count(completed + failed)} of {count(total)}
            </span>
            <Bar value={completed + failed} max={Math.max(1, total)} tone={failed > 0 ? 'warn' : 'good'} />
            {isUnderWay(batch) && (
              <span class="under">
                {rate(paceOf(batch, now))} lines a second, done in about {duration(forecast(batch, now))}
              </span>
            )}
          </span>
        );
      },
    },
    { id: 'cost', label: 'Cost so far', numeric: true, cell: ({ cost_usd }) => usd(cost_usd) },
    {
      id: 'errors',
      label: 'Failed lines',
      cell: ({ errors_by_code, errors }) =>
        [
          ...Object.entries(errors_by_code).map(([code, lines]) => `${code}: ${count(lines)}`),
          ...(errors?.data.slice(0, 3).map(({ code, line }) => `line ${line ?? NOTHING}: ${code}`) ?? []),
        ].join(', '),
    },
    {
      id: 'created',
      label: 'Created',
      cell: ({ created_at }) => (
        <span class="number" title={moment(created_at * 1000)}>
          {ago(new Date(created_at * 1000).toISOString(), now)}
        </span>
      ),
    },
    {
      id: 'actions',
      label: 'Actions',
      cell: (batch) => <Actions batch={batch} busy={action.busy} cancel={cancel} save={save} />,
    },
  ];
  return (
    <Page title="Batches" intro="Files of requests that run in the background, the newest first.">
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Field
          label="Search"
          type="search"
          value={search}
          onInput={set('search')}
          placeholder="Name, id or file"
        />
        <Pick
          label="Workspace"
          value={workspace}
          values={directory.data?.workspaces.map(({ id }) => id) ?? []}
          none="All"
          onChange={set('workspace')}
        />
        <Select label="Status" value={status} choices={STATUSES} onChange={set('status')} />
      </form>
      {quotable.length > 0 && <QuoteForm workspaces={quotable} />}
      {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
      {!batches.data && <Waiting polled={batches} />}
      {batches.data?.data.length === 0 &&
        (query === '' ? (
          <Empty title="There are no batches.">
            <code>client.batches.create</code> of the official SDKs makes one, and <code>metadata.name</code>{' '}
            names it.
          </Empty>
        ) : (
          <Empty title="No batch matches.">
            <a href={formatPlace({ page: 'batches' })}>Show all batches</a>
          </Empty>
        ))}
      {batches.data && batches.data.data.length > 0 && (
        <Table caption="Batches" columns={columns} rows={batches.data.data} rowKey={({ id }) => id} />
      )}
    </Page>
  );
}

function Status({ batch }: { batch: BatchView }) {
  const { status, waits_for, provider_batches: handed } = batch;
  return (
    <>
      {waits_for === null ? status.replace('_', ' ') : `waits for ${waits_for}`}
      {handed && handed.since !== null && (
        <div class="muted" title={`The provider’s batches: ${handed.ids.join(', ')}`}>
          at {handed.provider} since {moment(handed.since * 1000)}, {count(handed.ended)} of{' '}
          {count(handed.lines)} lines
        </div>
      )}
      {handed && handed.one_by_one !== null && (
        <div class="muted">lines run one by one: {handed.one_by_one}</div>
      )}
    </>
  );
}

interface ActionsProps {
  batch: BatchView;
  busy: boolean;
  cancel(batch: BatchView): void;
  save(workspace: string, file: string): void;
}

function Actions({ batch, busy, cancel, save }: ActionsProps) {
  const { workspace, output_file_id: output, error_file_id: errors, status } = batch;
  const may = useMay();
  if (!may('operator', workspace)) return null;
  return (
    <div class="actions">
      {(status === 'in_progress' || status === 'validating') && (
        <button type="button" class="small" disabled={busy} onClick={() => cancel(batch)}>
          Cancel
        </button>
      )}
      {output !== null && (
        <button type="button" class="small" disabled={busy} onClick={() => save(workspace, output)}>
          Answers
        </button>
      )}
      {errors !== null && (
        <button type="button" class="small" disabled={busy} onClick={() => save(workspace, errors)}>
          Errors
        </button>
      )}
    </div>
  );
}
