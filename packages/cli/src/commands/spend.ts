import { pipeline } from 'node:stream/promises';
import type { PresentedSpend, Saving, Spend } from '@sluice/shared/admin-api';
import { spendQuery, statementQuery } from '@sluice/shared/contract/query';
import { type Command, Option } from 'commander';
import { path, type Query } from '../admin/client.js';
import { DAYS, dayIn, parseAs, parseDay } from '../arguments/parse-arguments.js';
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

const ADJUSTED: Column<PresentedSpend> = { title: 'USD', right: true, cell: (row) => row.adjusted_usd };

const SAVINGS: Column<Saving>[] = [
  { title: 'WORKSPACE', cell: ({ workspace }) => workspace },
  { title: 'REQUESTS', right: true, cell: ({ requests }) => whole(requests) },
  { title: 'MISSED', right: true, cell: ({ missed }) => whole(missed) },
  { title: 'USD', right: true, cell: ({ cost_usd }) => cost_usd },
  { title: 'AT THE STANDARD TIER', right: true, cell: ({ standard_usd }) => standard_usd },
  { title: 'SAVED', right: true, cell: ({ saved_usd }) => saved_usd },
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
        'what to sum by: workspace, key, route, provider, model, end_user, day, month or tag:<name>; several with commas',
        parseAs(spendQuery.schema.by),
        'workspace',
      )
      .option('--since <when>', `first day: ${DAYS}`, parseDay)
      .option('--until <when>', `last day: ${DAYS}`, parseDay)
      .option(
        '--month <month>',
        'a calendar month such as 2026-11, instead of --since and --until',
        parseAs(spendQuery.schema.month),
      )
      .option(
        '--tz <zone>',
        'time zone of days and months, such as Europe/Berlin; default: UTC',
        parseAs(spendQuery.schema.tz),
      )
      .option('--workspace <workspace>', 'only this workspace')
      .option('--key <id>', 'only this key, by its id')
      .option('--tag <name=value>', 'only what has this tag', parseAs(spendQuery.schema.tag))
      .option('--user <user>', 'only this end user')
      .option('--route <alias>', 'only this route')
      .option('--provider <provider>', 'only this provider')
      .option('--model <model>', 'only this model, by the provider’s id for it')
      .addOption(
        new Option('--export <format>', 'write the rows to stdout; focus is FOCUS 1.2, by day').choices([
          'csv',
          'jsonl',
          'focus',
        ]),
      )
      .addOption(new Option('--csv', 'the same as --export csv').implies({ export: 'csv' })),
    'spend --by model --since 7d',
    'spend --by workspace --month 2026-11 --csv > teams.csv',
    'spend --by end_user --workspace demo --since 7d',
    'spend --by tag:feature --month 2026-11 --tz Europe/Berlin',
    'spend --month 2026-11 --export focus > focus.csv',
    'spend --by workspace,day --since 2027-01-01 --until 2027-01-31 --json',
  ).action(async ({ key, export: format, csv: _, ...rest }: Record<string, string>) => {
    const { since, until, tz = 'UTC' } = rest;
    const options = { ...rest, since: dayIn(tz, since), until: dayIn(tz, until), key_id: key };
    if (format !== undefined) {
      await writeOut(cli, '/spend', { ...options, format });
      return;
    }
    const spend = await cli.admin.get<Spend>('/spend', options);
    const groups = spend.by.map(
      (field): Column<PresentedSpend> => ({
        title: field.toUpperCase(),
        cell: (row) => String(row[field] ?? ''),
      }),
    );
    if (!spend.complete)
      cli.note('sluice: not everything has arrived in PostgreSQL yet, and these sums will still grow.');
    const total: PresentedSpend = { ...spend.total, [spend.by[0] ?? '']: 'total' };
    // An api of an older version has none.
    const adjustments = spend.adjustments ?? [];
    cli.show(spend, () =>
      [
        `From ${spend.from} to ${spend.to}${spend.time_zone === 'UTC' ? '' : ` (${spend.time_zone})`}:`,
        table([...groups, ...SUMS], [...spend.data, total], cli.style),
        ...(adjustments.length === 0
          ? []
          : [
              `Invoices have settled ${spend.total.adjusted_usd} USD beyond that (sluice reconcile):`,
              table([...groups, ADJUSTED], adjustments, cli.style),
            ]),
      ].join('\n'),
    );
  });
  withExamples(
    program
      .command('savings')
      .description(
        'Show what requests with a deadline have saved in this month (UTC), by workspace, and how many were late.',
      ),
    'savings',
  ).action(async () => {
    const rows = await cli.admin.list<Saving>('/savings');
    cli.showTable(rows, SAVINGS, 'No request had a deadline in this month.');
  });
  withExamples(
    program
      .command('statement')
      .description('Write what a workspace spent in a month, by model, route, key and day.')
      .argument('<workspace>', 'id of the workspace')
      .option('--month <month>', 'such as 2026-11; default: this month', parseAs(statementQuery.schema.month))
      .option(
        '--tz <zone>',
        'time zone of the month, such as Europe/Berlin; default: UTC',
        parseAs(statementQuery.schema.tz),
      )
      .addOption(
        new Option('--format <format>', 'csv, or html for a page to print')
          .choices(['csv', 'html'])
          .default('csv'),
      ),
    'statement demo --month 2026-11 > demo.csv',
    'statement demo --month 2026-11 --tz Europe/Berlin --format html > demo.html',
  ).action(async (workspace: string, options: Record<string, string>) => {
    await writeOut(cli, path`/workspaces/${workspace}/statement`, options);
  });
}

async function writeOut(cli: Cli, from: string, query: Query): Promise<void> {
  await pipeline(await cli.admin.stream(from, query), cli.terminal.stdout, { end: false });
}
