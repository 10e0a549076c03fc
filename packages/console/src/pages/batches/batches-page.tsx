import type { BatchView, List } from '@sluice/shared/admin-api';
import { path } from '../../admin-client.js';
import { ago, count, duration, moment, NOTHING, rate, usd } from '../../format.js';
import type { Place } from '../../location.js';
import { useMay } from '../../permissions.js';
import { download } from '../../ui/download.js';
import { Page } from '../../ui/page.js';
import { Bar, Empty, explainFailure, Notice, Waiting } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { useAction } from '../../ui/use-action.js';
import { usePoll } from '../../use-poll.js';
import { forecast, isUnderWay, paceOf } from './batch-forecast.js';

const EVERY_MS = 3_000;

export function BatchesPage(_: { place: Place }) {
  const batches = usePoll('batches', EVERY_MS, (client, signal) =>
    client.get<List<BatchView>>('/batches', signal),
  );
  const action = useAction();
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
    { id: 'batch', label: 'Batch', head: true, cell: ({ id }) => <code>{id}</code> },
    { id: 'workspace', label: 'Workspace', cell: ({ workspace }) => <span class="name">{workspace}</span> },
    {
      id: 'status',
      label: 'Status',
      cell: (batch) => <Status batch={batch} />,
    },
    {
      id: 'progress',
      label: 'Progress',
      cell: ({ request_counts: { total, completed, failed } }) => (
        <span class="with-bar">
          <span class="number">
            {count(completed + failed)} of {count(total)}
          </span>
          <Bar value={completed + failed} max={Math.max(1, total)} tone={failed > 0 ? 'warn' : 'good'} />
        </span>
      ),
    },
    {
      id: 'rate',
      label: 'Lines a second',
      numeric: true,
      cell: (batch) => (isUnderWay(batch) ? rate(paceOf(batch, now)) : NOTHING),
    },
    { id: 'cost', label: 'Cost so far', numeric: true, cell: ({ cost_usd }) => usd(cost_usd) },
    {
      id: 'end',
      label: 'Done in about',
      numeric: true,
      cell: (batch) => (isUnderWay(batch) ? duration(forecast(batch, now)) : NOTHING),
    },
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
      cell: ({ created_at }) => ago(new Date(created_at * 1000).toISOString(), now),
    },
    {
      id: 'actions',
      label: 'Actions',
      cell: (batch) => <Actions batch={batch} busy={action.busy} cancel={cancel} save={save} />,
    },
  ];
  return (
    <Page title="Batches" intro="Files of requests that run in the background, the newest first.">
      {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
      {!batches.data && <Waiting polled={batches} />}
      {batches.data?.data.length === 0 && (
        <Empty title="There are no batches.">
          <code>client.batches.create</code> of the official SDKs makes one.
        </Empty>
      )}
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
          at {handed.provider} since {moment(new Date(handed.since * 1000).toISOString())},{' '}
          {count(handed.ended)} of {count(handed.lines)} lines
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
    <>
      {(status === 'in_progress' || status === 'validating') && (
        <button type="button" disabled={busy} onClick={() => cancel(batch)}>
          Cancel
        </button>
      )}
      {output !== null && (
        <button type="button" disabled={busy} onClick={() => save(workspace, output)}>
          Answers
        </button>
      )}
      {errors !== null && (
        <button type="button" disabled={busy} onClick={() => save(workspace, errors)}>
          Errors
        </button>
      )}
    </>
  );
}
