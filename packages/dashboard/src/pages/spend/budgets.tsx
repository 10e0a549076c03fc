import type { LimitsUse, SpendRow } from '../../admin-types.js';
import { date, percent, price, usd } from '../../format.js';
import { Bar, Empty, type Tone } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { forecast, pacePerDay } from './forecast.js';

/** What is left of each workspace's month, and until when at the pace of the last week. */
export function Budgets({ uses, week }: { uses: LimitsUse[]; week: SpendRow[] }) {
  const now = Date.now();
  const columns: Column<LimitsUse>[] = [
    {
      id: 'workspace',
      label: 'Workspace',
      head: true,
      cell: ({ workspace }) => <span class="name">{workspace}</span>,
    },
    {
      id: 'budget',
      label: 'Budget a month',
      numeric: true,
      cell: ({ budget_usd_per_month }) => price(budget_usd_per_month ?? 0),
    },
    { id: 'spent', label: 'Spent', numeric: true, cell: ({ used }) => usd(used.spent_usd) },
    {
      id: 'left',
      label: 'Left',
      numeric: true,
      cell: ({ used }) => usd(used.left_usd ?? 0),
      sort: ({ used }) => Number(used.left_usd),
    },
    {
      id: 'used',
      label: 'Used',
      cell: ({ used, budget_usd_per_month: budget }) => (
        <span class="with-bar">
          <span class="number">{percent(Number(used.spent_usd), budget ?? 0)}</span>
          <Bar
            value={Number(used.spent_usd)}
            max={budget ?? 0}
            tone={toneOf(Number(used.spent_usd), budget ?? 0)}
          />
        </span>
      ),
    },
    {
      id: 'runs-out',
      label: 'Runs out',
      cell: ({ workspace, used }) => {
        const pace = pacePerDay(week, workspace, now);
        const end = forecast(Number(used.left_usd ?? 0), pace, now);
        if (end === 'spent') return <b class="fault">It is spent</b>;
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
      <h2 id="budgets">Budgets</h2>
      {uses.length === 0 ? (
        <Empty title="No workspace has a budget.">
          <code>sluice limits set</code> gives it one, in USD a calendar month.
        </Empty>
      ) : (
        <Table caption="Budgets" columns={columns} rows={uses} rowKey={({ workspace }) => workspace} />
      )}
    </section>
  );
}

function toneOf(spent: number, budget: number): Tone {
  return spent >= budget ? 'bad' : spent > 0.8 * budget ? 'warn' : 'good';
}
