import type { BudgetMonth, LimitsInUse, Workspace } from '@sluice/shared/admin-api';
import { type LimitName, limits } from '@sluice/shared/contract/limits';
import { snakeName } from '@sluice/shared/contract/names';
import { choicesOf } from '@sluice/shared/contract/structs';
import { type Command, Option } from 'commander';
import { path } from '../admin/client.js';
import { orWord, parseAmount, parseCount } from '../arguments/parse-arguments.js';
import type { Cli } from '../cli.js';
import { UsageError } from '../output/cli-error.js';
import { moment, whole } from '../output/format.js';
import { type Column, table } from '../output/table.js';
import { group, withExamples } from './examples.js';

const AT_ONCE = 8;
/** Reading more workspaces than these takes so long that progress is shown. */
const MANY = 100;

const COLUMNS: Column<LimitsInUse>[] = [
  { title: 'WORKSPACE', cell: (limits) => limits.workspace },
  { title: 'REQUESTS/MIN', right: true, cell: (limits) => whole(limits.requests_per_minute) },
  { title: 'TOKENS/MIN', right: true, cell: (limits) => whole(limits.tokens_per_minute) },
  { title: 'CONCURRENT', right: true, cell: (limits) => whole(limits.concurrent_requests) },
  { title: 'IN FLIGHT', right: true, cell: ({ used }) => whole(used.in_flight) },
  { title: 'USD/MONTH', right: true, cell: (limits) => whole(limits.budget_usd_per_month) },
  {
    title: 'BUDGET',
    cell: (limits) => (limits.budget_usd_per_month === null ? '' : (limits.budget ?? 'strict')),
  },
  {
    title: 'UNPRICED',
    cell: (limits) => limits.unpriced_models ?? (limits.budget_usd_per_month === null ? 'allow' : 'refuse'),
  },
  { title: 'WEIGHT', right: true, cell: ({ weight }) => whole(weight ?? 1) },
  { title: 'SPENT', right: true, cell: ({ used }) => used.spent_usd },
  { title: 'ESTIMATED', right: true, cell: ({ used }) => used.estimated_usd },
  { title: 'RESERVED', right: true, cell: ({ used }) => used.reserved_usd },
  { title: 'LEFT', right: true, cell: ({ used }) => used.left_usd ?? '' },
  { title: 'REFUSING SINCE', cell: ({ used }) => moment(used.refusing_since) },
];

const MONTHS: Column<BudgetMonth>[] = [
  { title: 'MONTH', cell: ({ month }) => month },
  { title: 'BUDGET USD', right: true, cell: ({ budget_usd }) => whole(budget_usd) },
  { title: 'SPENT', right: true, cell: ({ spent_usd }) => spent_usd },
  { title: 'ESTIMATED', right: true, cell: ({ estimated_usd }) => estimated_usd },
];

/** The value and the description of each option. */
/** Budgets have a command of their own. */
type SetLimit = Exclude<LimitName, 'budgets'>;

const OPTIONS: Record<SetLimit, readonly [value: string, description: string]> = {
  requests_per_minute: ['<n>', 'a number, or none'],
  tokens_per_minute: ['<n>', 'a number, or none'],
  concurrent_requests: ['<n>', 'a number, or none'],
  budget_usd_per_month: ['<usd>', 'an amount, or none'],
  weight: ['<n>', 'share of a busy provider: weight 3 gets three turns where no weight gets one; or none'],
  budget: [
    '<how>',
    'what a request reserves: the most that it can cost (strict), or what most stay under (expected)',
  ],
  unpriced_models: ['<policy>', 'whether models without a known price may be used; none: not with a budget'],
  batches_over_budget: ['<how>', 'whether batches wait or fail when the budget is spent; none: they wait'],
  when_full: ['<how>', 'what a request does while others use up a limit or budget; none: it waits'],
  keep_results_hours: ['<n>', 'hours that answers in the background are kept, up to 720; none: 24'],
  time_zone: ['<zone>', 'time zone of the budgets of `sluice budgets`, such as Europe/Berlin; none: UTC'],
};

function optionFor(name: SetLimit): Option {
  const [value, description] = OPTIONS[name];
  const option = new Option(`--${name.replaceAll('_', '-')} ${value}`, description);
  const choices = choicesOf(limits.schema[name]);
  // The budget is kept in one of two ways.
  if (choices) return option.choices(name === 'budget' ? choices : [...choices, 'none']);
  if (value === '<zone>') return option;
  return option.argParser(orWord('none', value === '<usd>' ? parseAmount : parseCount));
}

export function addLimitCommands(program: Command, cli: Cli): void {
  const command = group(
    program,
    'limits',
    'Limits of workspaces, and how much of them is used. A limit holds for all api processes together.',
    'limits list',
    'limits set demo --requests-per-minute 600 --budget-usd-per-month 100',
  );

  withExamples(
    command
      .command('list')
      .description('Show the limits, what is in use now, and what was spent in this month (UTC).')
      .argument('[workspace]', 'id of a workspace; default: all of them'),
    'limits list',
    'limits list demo --json',
  ).action(async (workspace: string | undefined) => {
    const ids =
      workspace === undefined
        ? (await cli.admin.list<Workspace>('/workspaces')).map(({ id }) => id)
        : [workspace];
    const rows: LimitsInUse[] = [];
    for (let i = 0; i < ids.length; i += AT_ONCE) {
      const some = ids.slice(i, i + AT_ONCE);
      const read = (id: string) => cli.admin.get<LimitsInUse>(path`/workspaces/${id}/limits`);
      rows.push(...(await Promise.all(some.map(read))));
      if (ids.length > MANY) cli.progress(`${rows.length} of ${ids.length} workspaces read…`);
    }
    cli.progress('');
    cli.showTable(rows, COLUMNS, 'There are no workspaces.');
  });

  withExamples(
    command
      .command('months')
      .description('Show the budget that each month of a workspace had (UTC), and what was spent in it.')
      .argument('<workspace>', 'id of the workspace'),
    'limits months demo',
    'limits months demo --json',
  ).action(async (workspace: string) => {
    const months = await cli.admin.list<BudgetMonth>(path`/workspaces/${workspace}/months`);
    cli.showTable(months, MONTHS, 'Nothing was spent yet.');
  });

  const set = command
    .command('set')
    .description(
      'Set limits of a workspace. A limit that you leave out stays as it is; "none" takes it away.',
    )
    .argument('<workspace>', 'id of the workspace');
  for (const name of Object.keys(OPTIONS) as SetLimit[]) set.addOption(optionFor(name));
  withExamples(
    set,
    'limits set demo --requests-per-minute 600 --concurrent-requests 50',
    'limits set demo --budget-usd-per-month 20 --budget expected',
    'limits set demo --budget-usd-per-month none',
  ).action(async (workspace: string, options: Record<string, number | string>) => {
    if (Object.keys(options).length === 0) throw new UsageError('give at least one limit to set');
    const place = path`/workspaces/${workspace}/limits`;
    const changes = Object.entries(options).map(([name, value]) => [
      snakeName(name),
      value === 'none' ? null : value,
    ]);
    const changed = await cli.admin.send<LimitsInUse>('PATCH', place, Object.fromEntries(changes));
    cli.show(changed, () => table(COLUMNS, [changed], cli.style));
  });
}
