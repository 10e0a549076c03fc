import type { Saving, SavingList } from '@sluice/shared/admin-api';
import { count, usd } from '../../format.js';
import { type Column, Table } from '../../ui/table.js';

/** What requests with a deadline have saved in this month, and how many were late. */
export function Savings({ savings: { data } }: { savings: SavingList }) {
  if (data.length === 0) return null;
  const columns: Column<Saving>[] = [
    {
      id: 'workspace',
      label: 'Workspace',
      head: true,
      cell: ({ workspace }) => <span class="name">{workspace}</span>,
    },
    { id: 'requests', label: 'Requests', numeric: true, cell: ({ requests }) => count(requests) },
    { id: 'cost', label: 'Cost', numeric: true, cell: ({ cost_usd }) => usd(cost_usd) },
    {
      id: 'standard',
      label: 'At the standard tier',
      numeric: true,
      cell: ({ standard_usd }) => usd(standard_usd),
    },
    {
      id: 'saved',
      label: 'Saved',
      numeric: true,
      cell: ({ saved_usd }) => <b>{usd(saved_usd)}</b>,
      sort: ({ saved_usd }) => Number(saved_usd),
    },
    {
      id: 'missed',
      label: 'Missed deadlines',
      numeric: true,
      cell: ({ missed }) => (missed > 0 ? <b class="mistake">{count(missed)}</b> : 'none'),
    },
  ];
  return (
    <section aria-labelledby="savings">
      <h2 id="savings">
        Requests with a deadline <span class="muted">in {data[0]?.month}</span>
      </h2>
      <Table caption="Savings" columns={columns} rows={data} rowKey={({ workspace }) => workspace} />
    </section>
  );
}
