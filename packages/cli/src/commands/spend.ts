import type { PresentedSpend, Spend } from '@sluice/shared/admin-api';
import type { Command } from 'commander';
import type { Cli } from '../cli.js';
import { whole } from '../output/format.js';
import { type Column, table } from '../output/table.js';
import { withExamples } from './examples.js';

const SUMS: Column<PresentedSpend>[] = [
  { title: 'REQUESTS', right: true, cell: (row) => whole(row.requests) },
  { title: 'INPUT', right: true, cell: (row) => whole(row.input_tokens) },
  { title: 'CACHED', right: true, cell: (row) => whole(row.cached_input_tokens) },
  { title: 'CACHE WRITE', right: true, cell: (row) => whole(row.cache_write_tokens) },
  { title: 'OUTPUT', right: true, cell: (row) => whole(row.output_tokens) },
  { title: 'USD', right: true, cell: (row) => row.cost_usd },
  { title: 'UNKNOWN BILLS', right: true, cell: (row) => whole(row.unknown_bills) },
  { title: 'ESTIMATED USD', right: true, cell: (row) => row.estimated_usd },
];

export function addSpendCommand(program: Command, cli: Cli): void {
  withExamples(
    program
      .command('spend')
      .description(
        'Show what was spent, in whole days (UTC). Some calls end without a bill, for example when a worker dies; what they may have cost is in a column of its own.',
      )
      .option(
        '--by <fields>',
        'what the sums are for: workspace, route, provider, model or day; several with commas',
        'workspace',
      )
      .option('--since <when>', 'the first day: a span such as 7d ago, or a date; default: 29 days ago')
      .option('--until <when>', 'the last day: a span or a date; default: today')
      .option('--workspace <workspace>', 'only this workspace')
      .option('--route <alias>', 'only this route')
      .option('--provider <provider>', 'only this provider')
      .option('--model <model>', 'only this model, by the provider’s id for it'),
    'spend --by model --since 7d',
    'spend --by workspace,day --since 2027-01-01 --until 2027-01-31 --json',
  ).action(async (options: Record<string, string>) => {
    const spend = await cli.admin.get<Spend>('/spend', options);
    const groups = spend.by.map(
      (field): Column<PresentedSpend> => ({
        title: field.toUpperCase(),
        cell: (row) => String(row[field] ?? ''),
      }),
    );
    const total: PresentedSpend = { ...spend.total, [spend.by[0] ?? '']: 'total' };
    cli.show(spend, () =>
      [
        `From ${spend.from} to ${spend.to}:`,
        table([...groups, ...SUMS], [...spend.data, total], cli.style),
      ].join('\n'),
    );
  });
}
