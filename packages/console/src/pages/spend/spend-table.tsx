import type { SpendSums } from '@sluice/shared/admin-api';
import { count, counted, percent, usd } from '../../format.js';
import { Bar } from '../../ui/small.js';
import { type Column, Row, Table } from '../../ui/table.js';
import { GROUPS, type Group, type GroupRow } from './spend-sums.js';

interface SpendTableProps {
  rows: GroupRow[];
  /** The groups that have no row. They are no group, and so not sorted with them. */
  others: GroupRow | undefined;
  /** How many there are, with and without a row. */
  groups: number;
  total: SpendSums;
  by: Group;
  /** The address of the statement of a row, where it has one. */
  statementOf(row: GroupRow): string | undefined;
}

/** ` (96 %)`: how much of the prompts came from a cache. */
function cachedShare({ input_tokens, cached_input_tokens: cached, cache_write_tokens }: GroupRow): string {
  return cached === 0 ? '' : ` (${percent(cached, input_tokens + cached + cache_write_tokens)})`;
}

export function SpendTable({ rows, others, groups, total, by, statementOf }: SpendTableProps) {
  const all = Number(total.cost_usd);
  const name = GROUPS.find(([each]) => each === by)?.[1] ?? by;
  const isPeriod = by === 'day' || by === 'month';
  const columns: Column<GroupRow>[] = [
    {
      id: 'name',
      label: name,
      head: true,
      cell: (row) => {
        const statement = statementOf(row);
        const text = <span class="name">{row.name}</span>;
        return statement === undefined ? text : <a href={statement}>{text}</a>;
      },
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
      cell: (row) => `${count(row.cached_input_tokens)}${cachedShare(row)}`,
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
      label: 'Estimated',
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
  const rest = others && { ...others, name: `The other ${count(groups - rows.length)} together` };
  return (
    <Table
      key={by}
      caption={`Spend by ${by}`}
      columns={columns}
      rows={rows}
      rowKey={(row) => row.name}
      footer={rest && <Row columns={columns} row={rest} />}
      sortBy={isPeriod ? 'name' : '-cost'}
    />
  );
}
