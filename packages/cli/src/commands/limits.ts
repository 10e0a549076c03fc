import type { Command } from 'commander';
import { path } from '../admin-client.js';
import type { Limits, LimitsInUse } from '../admin-types.js';
import type { Cli } from '../cli.js';
import { UsageError } from '../cli-error.js';
import { whole } from '../format.js';
import { orWord, parseAmount, parseCount } from '../parse-arguments.js';
import { perWorkspace } from '../per-workspace.js';
import { type Column, table } from '../table.js';
import { group, withExamples } from './examples.js';

const COLUMNS: Column<LimitsInUse>[] = [
  { title: 'WORKSPACE', cell: (limits) => limits.workspace },
  { title: 'REQUESTS/MIN', right: true, cell: (limits) => whole(limits.requests_per_minute) },
  { title: 'CONCURRENT', right: true, cell: (limits) => whole(limits.concurrent_requests) },
  { title: 'IN FLIGHT', right: true, cell: ({ used }) => whole(used.in_flight) },
  { title: 'USD/MONTH', right: true, cell: (limits) => whole(limits.budget_usd_per_month) },
  { title: 'SPENT', right: true, cell: ({ used }) => used.spent_usd },
  { title: 'RESERVED', right: true, cell: ({ used }) => used.reserved_usd },
  { title: 'LEFT', right: true, cell: ({ used }) => used.left_usd ?? '' },
];

export function addLimitCommands(program: Command, cli: Cli): void {
  const limits = group(
    program,
    'limits',
    'What a workspace may use, and what of it is used. They hold over all api processes together.',
    'limits list',
    'limits set demo --requests-per-minute 600 --budget-usd-per-month 100',
  );

  withExamples(
    limits
      .command('list')
      .description('Show limits, and what of them is used: now, and in this month (UTC).')
      .argument('[workspace]', 'default: all workspaces'),
    'limits list',
    'limits list demo --json',
  ).action(async (workspace: string | undefined) => {
    const rows = await perWorkspace(cli.admin, workspace, async (id) => [
      await cli.admin.get<LimitsInUse>(path`/workspaces/${id}/limits`),
    ]);
    cli.showTable(rows, COLUMNS, 'There are no workspaces.');
  });

  withExamples(
    limits
      .command('set')
      .description('Set limits of a workspace. What is not mentioned stays; "none" takes a limit away.')
      .argument('<workspace>')
      .option('--requests-per-minute <n>', 'a number, or none', orWord('none', parseCount))
      .option('--concurrent-requests <n>', 'a number, or none', orWord('none', parseCount))
      .option('--budget-usd-per-month <usd>', 'an amount, or none', orWord('none', parseAmount)),
    'limits set demo --requests-per-minute 600 --concurrent-requests 50',
    'limits set demo --budget-usd-per-month none',
  ).action(
    async (
      workspace: string,
      wish: {
        requestsPerMinute?: number | 'none';
        concurrentRequests?: number | 'none';
        budgetUsdPerMonth?: number | 'none';
      },
    ) => {
      if (Object.keys(wish).length === 0) throw new UsageError('give at least one limit to set');
      const place = path`/workspaces/${workspace}/limits`;
      const before = await cli.admin.get<LimitsInUse>(place);
      const keep = (wished: number | 'none' | undefined, was: number | null) =>
        wished === undefined ? was : wished === 'none' ? null : wished;
      const after: Limits = {
        requests_per_minute: keep(wish.requestsPerMinute, before.requests_per_minute),
        concurrent_requests: keep(wish.concurrentRequests, before.concurrent_requests),
        budget_usd_per_month: keep(wish.budgetUsdPerMonth, before.budget_usd_per_month),
      };
      const changed = await cli.admin.send<LimitsInUse>('PUT', place, after);
      cli.show(changed, () => table(COLUMNS, [changed], cli.style));
    },
  );
}
