import type { ProcessStatus, Status } from '@sluice/shared/admin-api';
import { ago, moment } from '../../format.js';
import { Badge, Notice } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';

export function Processes({ status: { processes, time } }: { status: Status }) {
  const now = Date.parse(time);
  const columns: Column<ProcessStatus>[] = [
    { id: 'id', label: 'Process', head: true, cell: ({ id }) => <code>{id}</code> },
    {
      id: 'role',
      label: 'Role',
      cell: ({ role }) => <Badge tone={role === 'api' ? 'info' : 'quiet'}>{role}</Badge>,
    },
    { id: 'host', label: 'Host', cell: ({ host }) => host, sort: ({ host }) => host },
    { id: 'pid', label: 'Process id', numeric: true, cell: ({ pid }) => pid },
    { id: 'since', label: 'Running since', cell: ({ started_at }) => moment(started_at) },
    {
      id: 'payloads',
      label: 'Payload key',
      cell: ({ payload_key }) =>
        payload_key === null ? <Badge tone="bad">unencrypted</Badge> : <code>{payload_key}</code>,
    },
    { id: 'seen', label: 'Last seen', cell: ({ seen_at }) => ago(seen_at, now) },
  ];
  const workers = processes.filter(({ role }) => role === 'worker').length;
  return (
    <section aria-labelledby="processes">
      <h2 id="processes">
        Processes{' '}
        <span class="muted">
          {processes.length - workers} api, {workers} worker
        </span>
      </h2>
      {workers === 0 && (
        <Notice tone="bad">
          No worker has reported in the last seconds: requests wait and are not answered.
        </Notice>
      )}
      {processes.some(({ payload_key }) => payload_key === null) && (
        <Notice tone="warn">
          A process has no PAYLOAD_KEY to encrypt with: prompts and answers are stored in Redis unencrypted.
        </Notice>
      )}
      <Table caption="Api and worker processes" columns={columns} rows={processes} rowKey={({ id }) => id} />
    </section>
  );
}
