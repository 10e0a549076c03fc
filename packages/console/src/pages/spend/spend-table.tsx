import type { SpendSums } from '@sluice/shared/admin-api';
import { count, counted, percent, usd } from '../../format.js';
import { Bar } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { GROUPS, type Group, type GroupRow } from './spend-sums.js';

export function SpendTable({ rows, total, by }: { rows: GroupRow[]; total: SpendSums; by: Group }) {
  const all = Number(total.cost_usd);
  const name = GROUPS.find(([each]) => each === by)?.[1] ?? by;
  const columns: Column<GroupRow>[] = [
    {
      id: 'name',
      label: name,
      head: true,
      cell: (row) => <span class="name">{row.name}</span>,
      sort: (row) => row.name,
    },
    {
      id: 'requests',
      label: 'Requests',
      numeric: true,
      cell: (row) => count(row.requests),
      sort: (row) => row.requests,
    },
    {
      id: 'input',
      label: 'Input tokens',
      numeric: true,
      cell: (row) => count(row.input_tokens),
      sort: (row) => row.input_tokens,
    },
    {
      id: 'cached',
      label: 'Cached',
      numeric: true,
      cell: (row) => count(row.cached_input_tokens),
      sort: (row) => row.cached_input_tokens,
    },
    {
      id: 'output',
      label: 'Output tokens',
      numeric: true,
      cell: (row) => count(row.output_tokens),
      sort: (row) => row.output_tokens,
    },
    { id: 'cost', label: 'Cost', numeric: true, cell: (row) => usd(row.cost), sort: (row) => row.cost },
    {
      id: 'estimated',
      label: 'Estimated, without a bill',
      numeric: true,
      cell: (row) =>
        row.unknown_bills === 0 ? '' : `${usd(row.estimated)} for ${counted(row.unknown_bills, 'call')}`,
      sort: (row) => row.estimated,
    },
    {
      id: 'share',
      label: 'Share',
      cell: (row) => (
        <span class="with-bar">
          <span class="number">{percent(row.cost, all)}</span>
          <Bar value={row.cost} max={all} />
        </span>
      ),
    },
  ];
  return (
    <Table
      key={by}
      caption={`Spend by ${by}`}
      columns={columns}
      rows={rows}
      rowKey={(row) => row.name}
      sortBy="-cost"
    />
  );
}
