import type { RefusalCount, RefusalReport } from '@sluice/shared/admin-api';
import { count, moment } from '../../format.js';
import { type Column, Table } from '../../ui/table.js';
import { usePoll } from '../../use-poll.js';

const EVERY_MS = 5_000;
const MOST = 12;

const COLUMNS: Column<RefusalCount>[] = [
  { id: 'reason', label: 'Why', head: true, cell: ({ text }) => text },
  { id: 'workspace', label: 'Workspace', cell: ({ workspace }) => workspace ?? '–' },
  { id: 'key', label: 'Key', cell: ({ key_id }) => (key_id === null ? '–' : <code>{key_id}</code>) },
  { id: 'requests', label: 'Requests', numeric: true, cell: ({ requests }) => count(requests) },
  { id: 'first', label: 'Since', cell: ({ first_at }) => moment(first_at) },
  { id: 'last', label: 'Last', cell: ({ last_at }) => moment(last_at) },
];

/** What was refused in the time range, also before it was accepted. Nothing has failed here. */
export function Refusals({ range }: { range: string }) {
  const { data } = usePoll(`refusals ${range}`, EVERY_MS, (client, signal) =>
    client.get<RefusalReport>(`/refusals?since=${range}`, signal),
  );
  if (!data || data.data.length === 0) return null;
  return (
    <section aria-labelledby="refusals">
      <h2 id="refusals">
        Refusals <span class="muted">{count(data.requests)} in this time</span>
      </h2>
      <Table
        caption="Refusals"
        columns={COLUMNS}
        rows={data.data.slice(0, MOST)}
        rowKey={({ workspace, key_id, reason }) => `${workspace} ${key_id} ${reason}`}
      />
    </section>
  );
}
