import type { BudgetList, BudgetState } from '@sluice/shared/admin-api';
import { count, date, moment, percent, price, usd } from '../../format.js';
import { Bar, Empty, type Tone } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { forecast } from './forecast.js';

/** Shows what is left of each budget, and how long that lasts at the pace of the last week. */
export function Budgets({ budgets: { data, total } }: { budgets: BudgetList }) {
  const now = Date.now();
  const columns: Column<BudgetState>[] = [
    {
      id: 'workspace',
      label: 'Workspace',
      head: true,
      cell: ({ workspace }) => <span class="name">{workspace}</span>,
    },
    {
      id: 'budget',
      label: 'Monthly budget',
      numeric: true,
      cell: ({ budget_usd_per_month }) => price(budget_usd_per_month),
    },
    { id: 'spent', label: 'Spent', numeric: true, cell: ({ spent_usd }) => usd(spent_usd) },
    {
      id: 'estimated',
      label: 'Estimated',
      numeric: true,
      cell: ({ estimated_usd }) => (Number(estimated_usd) === 0 ? '' : usd(estimated_usd)),
    },
    {
      id: 'left',
      label: 'Left',
      numeric: true,
      cell: ({ left_usd }) => usd(left_usd),
      sort: ({ left_usd }) => Number(left_usd),
    },
    {
      id: 'used',
      label: 'Used',
      cell: (row) => {
        const { budget_usd_per_month: budget } = row;
        const used = Number(row.spent_usd) + Number(row.estimated_usd);
        return (
          <span class="with-bar">
            <span class="number">{percent(used, budget)}</span>
            <Bar value={used} max={budget} tone={toneOf(used, budget)} />
          </span>
        );
      },
    },
    {
      id: 'runs-out',
      label: 'Runs out',
      cell: ({ left_usd, pace_usd_per_day: pace, refusing_since }) => {
        const end = forecast(Number(left_usd), pace, now);
        if (refusing_since !== null) return <b class="mistake">Refusing since {moment(refusing_since)}</b>;
        if (end === 'spent') return <b class="mistake">Spent</b>;
        if (end === 'lasts') return <span class="muted">Lasts the month, at {usd(pace)} a day</span>;
        return (
          <>
            <b>{date(end)}</b> <span class="muted">at {usd(pace)} a day</span>
          </>
        );
      },
    },
  ];
  return (
    <section aria-labelledby="budgets">
      <h2 id="budgets">
        Budgets{' '}
        {total > data.length && (
          <span class="muted">
            the {count(data.length)} most used of {count(total)}
          </span>
        )}
      </h2>
      {data.length === 0 ? (
        <Empty title="No workspace has a budget.">
          <code>sluice limits set</code> sets one, in USD for each calendar month.
        </Empty>
      ) : (
        <Table caption="Budgets" columns={columns} rows={data} rowKey={({ workspace }) => workspace} />
      )}
    </section>
  );
}

function toneOf(used: number, budget: number): Tone {
  return used >= budget ? 'bad' : used > 0.8 * budget ? 'warn' : 'good';
}
