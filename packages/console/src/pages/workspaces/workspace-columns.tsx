import type { BudgetList, BudgetState, DirectoryOverview, Spend, Workspace } from '@sluice/shared/admin-api';
import { count, moment, NOTHING, percent, price, usd } from '../../format.js';
import { formatPlace } from '../../location.js';
import { Badge, Bar } from '../../ui/small.js';
import type { Column } from '../../ui/table.js';
import { toneOf } from './limits-section.js';

export interface WorkspaceRow extends Workspace {
  keys: number;
  routes: number;
  /** Undefined until it is known. */
  spent: number | undefined;
  budget: BudgetState | undefined;
}

export function toWorkspaceRows(
  { workspaces, keys, routes }: DirectoryOverview,
  money: { spend: Spend; budgets: BudgetList } | undefined,
): WorkspaceRow[] {
  const keysOf = countBy(keys);
  const routesOf = countBy(routes);
  const spent = new Map(money?.spend.data.map((row) => [row.workspace, Number(row.cost_usd)]));
  const budgets = new Map(money?.budgets.data.map((budget) => [budget.workspace, budget]));
  return workspaces.map((workspace) => ({
    ...workspace,
    keys: keysOf.get(workspace.id) ?? 0,
    routes: routesOf.get(workspace.id) ?? 0,
    spent: money && (spent.get(workspace.id) ?? 0),
    budget: budgets.get(workspace.id),
  }));
}

function countBy(things: readonly { workspace: string }[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { workspace } of things) counts.set(workspace, (counts.get(workspace) ?? 0) + 1);
  return counts;
}

export const workspaceColumns: readonly Column<WorkspaceRow>[] = [
  {
    id: 'id',
    label: 'Workspace',
    head: true,
    cell: ({ id, name }) => (
      <>
        <a class="name" href={formatPlace({ page: 'workspaces', item: id })}>
          {id}
        </a>
        {name !== id && <span class="under">{name}</span>}
      </>
    ),
    sort: ({ id }) => id,
  },
  {
    id: 'spent',
    label: 'Spent this month',
    numeric: true,
    cell: ({ spent }) => (spent === undefined ? NOTHING : usd(spent)),
    sort: ({ spent }) => spent,
  },
  {
    id: 'budget',
    label: 'Budget',
    numeric: true,
    cell: ({ limits }) =>
      limits.budget_usd_per_month === null ? NOTHING : price(limits.budget_usd_per_month),
    sort: ({ limits }) => limits.budget_usd_per_month ?? undefined,
  },
  { id: 'used', label: 'Used', cell: Used, sort: ({ budget }) => budget && usedShare(budget) },
  { id: 'limits', label: 'Limits', cell: LimitWords },
  {
    id: 'models',
    label: 'Models',
    cell: ({ models }) => (models === null ? 'all' : count(models.length)),
  },
  { id: 'keys', label: 'Keys', numeric: true, cell: ({ keys }) => count(keys), sort: ({ keys }) => keys },
  {
    id: 'routes',
    label: 'Routes',
    numeric: true,
    cell: ({ routes }) => count(routes),
    sort: ({ routes }) => routes,
  },
];

function usedShare({ left_usd, budget_usd_per_month: budget }: BudgetState): number {
  return budget === 0 ? 1 : (budget - Number(left_usd)) / budget;
}

function Used({ budget }: WorkspaceRow) {
  if (!budget) return <span class="muted">{NOTHING}</span>;
  const share = usedShare(budget);
  if (budget.refusing_since !== null)
    return <Badge tone="bad">refusing since {moment(budget.refusing_since)}</Badge>;
  return (
    <span class="with-bar">
      <span class="number">{percent(share, 1)}</span>
      <Bar value={share} max={1} tone={toneOf(share, 1)} />
    </span>
  );
}

function LimitWords({ limits }: WorkspaceRow) {
  const words = [
    ...(limits.concurrent_requests === null ? [] : [`${count(limits.concurrent_requests)} at a time`]),
    ...(limits.requests_per_minute === null
      ? []
      : [`${count(limits.requests_per_minute)} requests a minute`]),
    ...(limits.tokens_per_minute === null ? [] : [`${count(limits.tokens_per_minute)} tokens a minute`]),
  ];
  return words.length === 0 ? <span class="muted">none</span> : <span>{words.join(', ')}</span>;
}
