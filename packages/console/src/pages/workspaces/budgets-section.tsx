import {
  type Budget,
  budgetWords,
  type ScopedBudgetList,
  type ScopedBudgetState,
  type UsualOutput,
} from '@sluice/shared/contract/budget';
import { count, moment, percent, usd } from '../../format.js';
import { Bar } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { toneOf } from './limits-section.js';

const COLUMNS: Column<ScopedBudgetState>[] = [
  {
    id: 'budget',
    label: 'Budget',
    head: true,
    cell: ({ scope, tag, window }) => budgetWords({ scope, tag: tag ?? undefined, window }),
  },
  {
    id: 'value',
    label: 'Value',
    cell: ({ value, scope, route }) => (
      <>
        {value ?? (scope === 'workspace' ? '' : <span class="muted">requests that name none</span>)}
        {route !== null && <span class="muted"> by the route {route}</span>}
      </>
    ),
  },
  { id: 'spent', label: 'Spent', numeric: true, cell: (state) => usd(spentOf(state)) },
  { id: 'reserved', label: 'Reserved', numeric: true, cell: ({ reserved_usd }) => usd(reserved_usd) },
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
    cell: (state) => {
      const [spent, budget] = [spentOf(state), Number(state.budget_usd)];
      return (
        <span class="with-bar">
          <span class="number">{percent(spent, budget)}</span>
          <Bar value={spent} max={budget} tone={toneOf(spent, budget)} />
        </span>
      );
    },
  },
  {
    id: 'renews',
    label: 'Renews',
    cell: ({ renews_at }) => (renews_at === null ? 'never' : moment(renews_at)),
  },
];

const USUAL_COLUMNS: Column<UsualOutput>[] = [
  { id: 'route', label: 'Route', head: true, cell: ({ route }) => route },
  {
    id: 'tokens',
    label: 'Output tokens of 95 % of the answers, at most',
    numeric: true,
    cell: ({ output_tokens }) => count(output_tokens),
  },
  { id: 'answers', label: 'Learned from answers', numeric: true, cell: ({ answers }) => count(answers) },
];

interface BudgetsProps {
  budgets: readonly Budget[];
  states: ScopedBudgetList;
  /** Absent: whoever looks may not change them. */
  onRemove: ((budget: Budget) => void) | undefined;
}

/** The budgets beside the monthly one: what is left of each, and when it renews. */
export function BudgetsSection({
  budgets,
  states: { data, total, usual_outputs: usual },
  onRemove,
}: BudgetsProps) {
  return (
    <>
      {budgets.length === 0 && <p class="muted">None beside the monthly one.</p>}
      <ul class="plain">
        {budgets.map((budget) => (
          <li key={budgetWords(budget)}>
            {usd(budget.usd)} for {budgetWords(budget)}
            {budget.mode === 'expected' && ', by what a request will most likely cost'}
            {typeof budget.when_spent === 'object' &&
              `, then ${usd(budget.when_spent.usd)} by the route ${budget.when_spent.route}`}{' '}
            {onRemove && (
              <button
                type="button"
                class="small"
                aria-label={`Remove: ${budgetWords(budget)}`}
                onClick={() => onRemove(budget)}
              >
                Remove
              </button>
            )}
          </li>
        ))}
      </ul>
      {data.length > 0 && (
        <Table caption="What is left of budgets" columns={COLUMNS} rows={data} rowKey={keyOf} />
      )}
      {total > data.length && (
        <p class="small-print">
          The most used {count(data.length)} of {count(total)} are shown.
        </p>
      )}
      {usual.length > 0 && (
        <Table
          caption="What requests are expected to write"
          columns={USUAL_COLUMNS}
          rows={usual}
          rowKey={({ route }) => route}
        />
      )}
    </>
  );
}

function keyOf({ scope, tag, window, value, route }: ScopedBudgetState): string {
  return JSON.stringify([scope, tag, window, value, route]);
}

function spentOf({ spent_usd, estimated_usd }: ScopedBudgetState): number {
  return Number(spent_usd) + Number(estimated_usd);
}
