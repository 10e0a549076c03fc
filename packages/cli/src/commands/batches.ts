import type { BatchView } from '@sluice/shared/admin-api';
import { BATCH_STATUSES } from '@sluice/shared/contract/batch';
import { type Command, Option } from 'commander';
import { path } from '../admin/client.js';
import type { Cli } from '../cli.js';
import { CliError } from '../output/cli-error.js';
import { moment, whole } from '../output/format.js';
import { type Column, table } from '../output/table.js';
import { group, withExamples } from './examples.js';

const momentOf = (seconds: number) => moment(new Date(seconds * 1000).toISOString());

const COLUMNS: Column<BatchView>[] = [
  { title: 'BATCH', cell: ({ id }) => id },
  { title: 'NAME', cell: ({ metadata }) => metadata?.name ?? '' },
  { title: 'WORKSPACE', cell: ({ workspace }) => workspace },
  {
    title: 'STATUS',
    cell: ({ status, waits_for, provider_batches: handed }) =>
      waits_for !== null
        ? `${status}, waits for ${waits_for}`
        : handed && handed.since !== null && status === 'in_progress'
          ? `${status} at ${handed.provider}`
          : status,
  },
  { title: 'LINES', right: true, cell: ({ request_counts }) => whole(request_counts.total) },
  { title: 'ANSWERED', right: true, cell: ({ request_counts }) => whole(request_counts.completed) },
  { title: 'FAILED', right: true, cell: ({ request_counts }) => whole(request_counts.failed) },
  { title: 'COST', right: true, cell: ({ cost_usd }) => cost_usd },
  { title: 'CREATED', cell: ({ created_at }) => momentOf(created_at) },
  {
    title: 'FAILED BY CODE',
    cell: ({ errors_by_code }) =>
      Object.entries(errors_by_code)
        .map(([code, lines]) => `${code} ${lines}`)
        .join(', '),
  },
];

/** "At openai since 2026-11-15 20:00:00 UTC, 40 of 100 lines". Undefined: no route of it asks for that. */
function handedText({ provider_batches: handed }: BatchView): string | undefined {
  if (!handed) return undefined;
  const { provider, model, since, lines, ended, ids, one_by_one } = handed;
  const why = one_by_one === null ? [] : [`Lines run one by one: ${one_by_one}`];
  if (since === null) return why.join('\n');
  const at = `At ${provider} (${model}) since ${momentOf(since)}, ${whole(ended)} of ${whole(lines)} lines`;
  return [at, ...(ids.length > 0 ? [`The provider’s batches: ${ids.join(', ')}`] : []), ...why].join('\n');
}

export function addBatchCommands(program: Command, cli: Cli): void {
  const batches = group(
    program,
    'batches',
    'Batches: files of requests that run in the background.',
    'batches list',
    'batches show batch_V1StGXR8Z5jdHi6BmyT0',
    'batches cancel demo batch_V1StGXR8Z5jdHi6BmyT0',
  );

  withExamples(
    batches
      .command('list')
      .description('Show batches, the newest first: how far they are, and what they have cost so far.')
      .argument('[workspace]', 'default: all workspaces')
      .addOption(new Option('--status <status>', 'only those with this status').choices(BATCH_STATUSES))
      .option('--search <text>', 'only those with this in their name, their id or the id of their file'),
    'batches list',
    'batches list --status in_progress --search nightly',
    'batches list demo --json',
  ).action(async (workspace: string | undefined, filter: { status?: string; search?: string }) => {
    const rows = await cli.admin.list<BatchView>('/batches', { workspace, ...filter });
    cli.showTable(rows, COLUMNS, 'There are no such batches.');
  });

  withExamples(
    batches
      .command('show')
      .description('Show one batch, and how far the provider’s own batch API is with it.')
      .argument('<batch>', 'id of the batch'),
    'batches show batch_V1StGXR8Z5jdHi6BmyT0',
  ).action(async (id: string) => {
    const rows = await cli.admin.list<BatchView>('/batches', { search: id });
    const batch = rows.find((row) => row.id === id);
    if (!batch) throw new CliError(`There is no batch ${id} among the newest ones.`);
    cli.show(batch, () => {
      const handed = handedText(batch);
      return `${table(COLUMNS, [batch], cli.style)}${handed === undefined ? '' : `\n${handed}`}`;
    });
  });

  withExamples(
    batches
      .command('cancel')
      .description('Cancel a batch. Lines that wait are not run; lines that run may finish.')
      .argument('<workspace>', 'id of its workspace')
      .argument('<batch>', 'id of the batch'),
    'batches cancel demo batch_V1StGXR8Z5jdHi6BmyT0',
  ).action(async (workspace: string, batch: string) => {
    const place = path`/workspaces/${workspace}/batches/${batch}/cancel`;
    const changed = await cli.admin.send<BatchView>('POST', place);
    cli.show(changed, () => table(COLUMNS, [changed], cli.style));
  });
}
