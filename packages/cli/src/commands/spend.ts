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
        'What was spent, from the ledger. Whole days, UTC. What calls may have cost whose bill nobody knows is apart.',
      )
      .option('--by <fields>', 'workspace, route, provider, model, day; several with commas', 'workspace')
      .option('--since <when>', '7d ago, or a date; default: 30 days with today')
      .option('--until <when>', 'a date; default: now')
      .option('--workspace <workspace>', 'only of this workspace')
      .option('--route <alias>', 'only of this route')
      .option('--provider <provider>', 'only of this provider')
      .option('--model <model>', 'only of this model of a provider'),
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
