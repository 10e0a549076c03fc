import type { DirectoryOverview, RefusalCount, RefusalReport } from '@sluice/shared/admin-api';
import { count, moment, NOTHING } from '../../format.js';
import { formatPlace } from '../../location.js';
import { Waiting } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { usePoll } from '../../use-poll.js';
import { keyNames } from '../requests/key-names.js';

const EVERY_MS = 5_000;
const SLOWLY_MS = 60_000;
const MOST = 12;

function columns(nameOf: (keyId: string) => string): Column<RefusalCount>[] {
  return [
    {
      id: 'reason',
      label: 'Why',
      head: true,
      cell: ({ reason, text, workspace }) => (
        <a href={formatPlace({ page: 'requests', query: { reason, ...(workspace ? { workspace } : {}) } })}>
          {text}
        </a>
      ),
    },
    {
      id: 'workspace',
      label: 'Workspace',
      cell: ({ workspace }) =>
        workspace === null ? (
          NOTHING
        ) : (
          <a href={formatPlace({ page: 'workspaces', item: workspace })}>{workspace}</a>
        ),
    },
    {
      id: 'key',
      label: 'Key',
      cell: ({ key_id }) => (key_id === null ? NOTHING : <span class="name nowrap">{nameOf(key_id)}</span>),
    },
    { id: 'requests', label: 'Requests', numeric: true, cell: ({ requests }) => count(requests) },
    { id: 'first', label: 'Since', cell: ({ first_at }) => moment(first_at) },
    { id: 'last', label: 'Last', cell: ({ last_at }) => moment(last_at) },
  ];
}

/** What was refused in the time range, also before it was accepted. Nothing has failed here. */
export function Refusals({ time }: { time: string }) {
  const report = usePoll(`refusals ${time}`, EVERY_MS, (client, signal) =>
    client.get<RefusalReport>(`/refusals?${time}`, signal),
  );
  const directory = usePoll('directory', SLOWLY_MS, (client, signal) =>
    client.get<DirectoryOverview>('/directory', signal),
  );
  const { data } = report;
  // The page has other places that say so while it loads.
  if (!data) return report.error ? <Waiting polled={report} /> : null;
  if (data.data.length === 0) return null;
  const hidden = data.data.length - MOST;
  return (
    <section aria-labelledby="refusals">
      <h2 id="refusals">
        Refusals <span class="muted">{count(data.requests)} in this time</span>
      </h2>
      <Table
        caption="Refusals"
        columns={columns(keyNames(directory.data))}
        rows={data.data.slice(0, MOST)}
        rowKey={({ workspace, key_id, reason }) => `${workspace} ${key_id} ${reason}`}
      />
      {hidden > 0 && (
        <p class="muted small-print">
          {data.has_more ? `More than ${count(hidden)}` : count(hidden)} further rows with fewer requests:{' '}
          <code>sluice refusals</code> shows them.
        </p>
      )}
    </section>
  );
}
