import type { LimitsInUse } from '@sluice/shared/admin-api';
import {
  BUDGET_SCOPES,
  BUDGET_WINDOWS,
  type Budget,
  budgetWords,
  type ScopedBudgetList,
  type ScopedBudgetState,
  sameBudget,
  type UsualOutput,
} from '@sluice/shared/contract/budget';
import { type Command, Option } from 'commander';
import { path } from '../admin/client.js';
import { parseAmount } from '../arguments/parse-arguments.js';
import type { Cli } from '../cli.js';
import { UsageError } from '../output/cli-error.js';
import { moment } from '../output/format.js';
import { type Column, table } from '../output/table.js';
import { group, withExamples } from './examples.js';

const COLUMNS: Column<ScopedBudgetState>[] = [
  {
    title: 'BUDGET',
    cell: ({ scope, tag, window }) => budgetWords({ scope, tag: tag ?? undefined, window }),
  },
  { title: 'VALUE', cell: ({ value }) => value ?? '' },
  { title: 'ROUTE', cell: ({ route }) => route ?? '' },
  { title: 'USD', right: true, cell: ({ budget_usd }) => budget_usd },
  { title: 'SPENT', right: true, cell: ({ spent_usd }) => spent_usd },
  { title: 'RESERVED', right: true, cell: ({ reserved_usd }) => reserved_usd },
  { title: 'LEFT', right: true, cell: ({ left_usd }) => left_usd },
  { title: 'RENEWS', cell: ({ renews_at }) => moment(renews_at) },
];

const USUAL_COLUMNS: Column<UsualOutput>[] = [
  { title: 'ROUTE', cell: ({ route }) => route },
  { title: 'USUAL OUTPUT TOKENS', right: true, cell: ({ output_tokens }) => String(output_tokens) },
  { title: 'ANSWERS', right: true, cell: ({ answers }) => String(answers) },
];

interface SetOptions extends Omit<Budget, 'thresholds' | 'when_spent'> {
  route?: string;
  routeUsd?: number;
  thresholds?: string;
}

export function addBudgetCommands(program: Command, cli: Cli): void {
  const command = group(
    program,
    'budgets',
    'Budgets of a workspace, and of its keys, end users, tags and runs. "sluice limits" sets the monthly one.',
    'budgets list demo',
    'budgets set demo --scope end_user --window day --usd 2',
  );

  withExamples(
    command
      .command('list')
      .description(
        'Show what is left of each budget and when it renews, the most used first. For budgets of mode expected, also how many output tokens 95 of 100 answers of a route stay under, once that is learned.',
      )
      .argument('<workspace>', 'id of the workspace'),
    'budgets list demo',
    'budgets list demo --json',
  ).action(async (workspace: string) => {
    const found = await cli.admin.get<ScopedBudgetList>(path`/workspaces/${workspace}/budgets`);
    const { data, total, usual_outputs: usual } = found;
    cli.show(found, () => {
      if (data.length === 0) return 'The workspace has no budget.';
      const parts = [table(COLUMNS, data, cli.style)];
      if (total > data.length) parts.push(`The most used ${data.length} of ${total} are shown.`);
      if (usual.length > 0) parts.push(table(USUAL_COLUMNS, usual, cli.style));
      return parts.join('\n\n');
    });
  });

  withExamples(
    withPlace(
      command
        .command('set')
        .description('Add a budget, or change the one for the same scope, window and value.'),
    )
      .requiredOption('--usd <usd>', 'the amount', parseAmount)
      .addOption(
        new Option('--mode <mode>', 'what a request reserves; default: strict').choices([
          'strict',
          'expected',
        ]),
      )
      .option('--route <alias>', 'the route that takes requests when it is spent; default: they are refused')
      .option('--route-usd <usd>', 'the budget of that route', parseAmount)
      .option('--thresholds <percents>', 'when webhooks are told; default: 50,80,100'),
    'budgets set demo --scope workspace --window hour --usd 5',
    'budgets set demo --scope tag --tag project --window month --usd 100 --route cheap --route-usd 10',
    'budgets set demo --scope run --window total --usd 1 --mode expected',
  ).action(async (workspace: string, { route, routeUsd, thresholds, ...rest }: SetOptions) => {
    if ((route === undefined) !== (routeUsd === undefined))
      throw new UsageError('--route and --route-usd go together');
    const budget: Budget = {
      ...rest,
      ...(route === undefined ? {} : { when_spent: { route, usd: routeUsd ?? 0 } }),
      ...(thresholds === undefined ? {} : { thresholds: thresholds.split(',').map(Number) }),
    };
    await change(cli, workspace, (before) => [...before.filter((each) => !sameBudget(each, budget)), budget]);
  });

  withExamples(
    withPlace(command.command('remove').description('Take a budget away.')),
    'budgets remove demo --scope end_user --window day',
  ).action(async (workspace: string, meant: Budget) => {
    await change(cli, workspace, (before) => {
      const rest = before.filter((each) => !sameBudget(each, meant));
      if (rest.length === before.length) throw new UsageError('the workspace has no such budget');
      return rest;
    });
  });
}

function withPlace(command: Command): Command {
  return command
    .argument('<workspace>', 'id of the workspace')
    .addOption(
      new Option('--scope <scope>', 'whose money it is').choices(BUDGET_SCOPES).makeOptionMandatory(),
    )
    .addOption(
      new Option('--window <window>', 'when it renews').choices(BUDGET_WINDOWS).makeOptionMandatory(),
    )
    .option('--tag <name>', 'the tag, for the scope tag')
    .option('--value <value>', 'only this key (its id), end user, run or value of the tag');
}

async function change(cli: Cli, workspace: string, to: (before: Budget[]) => Budget[]): Promise<void> {
  const place = path`/workspaces/${workspace}/limits`;
  const { budgets } = await cli.admin.get<LimitsInUse>(place);
  const changed = await cli.admin.send<LimitsInUse>('PATCH', place, { budgets: to(budgets ?? []) });
  cli.show(changed.budgets, () => {
    const lines = (changed.budgets ?? []).map((budget) => `${budget.usd} USD for ${budgetWords(budget)}`);
    return lines.length === 0 ? 'The workspace has no budget beside a monthly one.' : lines.join('\n');
  });
}
