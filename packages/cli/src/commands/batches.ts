import { createReadStream, type Stats, statSync } from 'node:fs';
import type { BatchQuote, BatchView, Workspace } from '@sluice/shared/admin-api';
import { BATCH_ENDPOINTS, BATCH_STATUSES } from '@sluice/shared/contract/batch';
import { type Command, Option } from 'commander';
import { path } from '../admin/client.js';
import type { Cli } from '../cli.js';
import { CliError, SaidError, UsageError } from '../output/cli-error.js';
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

type Row<K extends 'models' | 'windows' | 'refused'> = BatchQuote[K][number];

const COSTS: Column<Pick<Row<'windows'>, 'expected_cost_usd' | 'most_cost_usd' | 'bound_cost_usd'>>[] = [
  { title: 'EXPECTED', right: true, cell: ({ expected_cost_usd }) => expected_cost_usd },
  { title: 'MOST', right: true, cell: ({ most_cost_usd }) => most_cost_usd },
  { title: 'BOUND', right: true, cell: ({ bound_cost_usd }) => bound_cost_usd },
];
const MODEL_COLUMNS: Column<Row<'models'>>[] = [
  { title: 'MODEL', cell: ({ model }) => model },
  { title: 'AT', cell: ({ provider, provider_model }) => `${provider}/${provider_model}` },
  { title: 'LINES', right: true, cell: ({ lines }) => whole(lines) },
  { title: 'INPUT', right: true, cell: ({ input_tokens }) => whole(input_tokens) },
  { title: 'OUTPUT', right: true, cell: ({ output_tokens }) => whole(output_tokens) },
  ...COSTS,
  {
    title: 'ANSWERS',
    cell: ({ is_priced, is_measured }) => (!is_priced ? 'no price' : is_measured ? 'as measured' : 'a guess'),
  },
];
function fails({ ends_at, in_time }: Row<'windows'>): boolean {
  return ends_at === null && in_time === false;
}

const WINDOW_COLUMNS: Column<Row<'windows'>>[] = [
  { title: 'WINDOW', cell: ({ completion_window }) => completion_window },
  { title: 'BY', cell: ({ by }) => by.replace('_', ' ') },
  ...COSTS,
  {
    title: 'ENDS',
    cell: (row) => {
      const { ends_at, in_time } = row;
      if (ends_at === null) return fails(row) ? 'fails' : 'unknown';
      return `${momentOf(ends_at)}${in_time ? '' : ', too late'}`;
    },
  },
];
const REFUSED_COLUMNS: Column<Row<'refused'>>[] = [
  { title: 'REFUSED', right: true, cell: ({ lines }) => whole(lines) },
  {
    title: 'FIRST LINE',
    right: true,
    cell: ({ first_line }) => (first_line === null ? '' : whole(first_line)),
  },
  { title: 'CODE', cell: ({ code }) => code },
  { title: 'WHY', cell: ({ message }) => message },
];

function quoteText(quote: BatchQuote, style: Cli['style']): string {
  const { lines, lines_read, unpriced_lines: unpriced, models, windows, errors, refused } = quote;
  const read = lines_read < lines ? `, of which ${whole(lines_read)} were read` : '';
  const mistakes = errors?.data.map(
    ({ line, message }) => `${line === null ? '' : `line ${line}: `}${message}`,
  );
  return [
    `${whole(lines)} lines${read}`,
    ...(unpriced > 0
      ? [
          `${whole(unpriced)} of ${whole(lines)} lines may go to a model without a known price. The costs below leave that model out.`,
        ]
      : []),
    ...(mistakes ? [`The batch would fail:\n${mistakes.join('\n')}`] : []),
    ...(models.length > 0 ? [table(MODEL_COLUMNS, models, style)] : []),
    table(WINDOW_COLUMNS, windows, style),
    ...(refused.length > 0 ? [table(REFUSED_COLUMNS, refused, style)] : []),
  ].join('\n\n');
}

/** The workspace that was named, or the only one that there is. */
async function workspaceOf({ admin }: Cli, named: string | undefined): Promise<string> {
  if (named !== undefined) return named;
  const [first, ...others] = await admin.list<Workspace>('/workspaces');
  if (!first || others.length > 0) throw new UsageError('name the workspace: --workspace <id>');
  return first.id;
}

function sizeOf(file: string): number {
  let found: Stats;
  try {
    found = statSync(file);
  } catch {
    throw new CliError(`cannot read ${file}`);
  }
  if (found.isDirectory()) throw new CliError(`${file} is a folder`);
  return found.size;
}

export function addBatchCommands(program: Command, cli: Cli): void {
  const batches = group(
    program,
    'batches',
    'Batches: files of requests that run in the background.',
    'batches list',
    'batches show batch_V1StGXR8Z5jdHi6BmyT0',
    'batches cancel demo batch_V1StGXR8Z5jdHi6BmyT0',
    'batches quote requests.jsonl',
  );

  withExamples(
    batches
      .command('quote')
      .description('Say what a batch of a file would cost, when it would end, and what would be refused.')
      .argument('<file>', 'the file, as a batch takes it')
      .option('--workspace <id>', 'whose batch it would be; default: the only workspace')
      .addOption(
        new Option('--endpoint <path>', 'what the lines ask for')
          .choices(BATCH_ENDPOINTS)
          .default(BATCH_ENDPOINTS[0]),
      ),
    'batches quote requests.jsonl',
    'batches quote requests.jsonl --workspace demo --json',
  ).action(async (file: string, options: { workspace?: string; endpoint: string }) => {
    const bytes = sizeOf(file);
    const place = path`/workspaces/${await workspaceOf(cli, options.workspace)}/batch-quote`;
    const { endpoint } = options;
    const quote = await cli.admin.sendFile<BatchQuote>(place, { endpoint }, createReadStream(file), bytes);
    cli.show(quote, () => quoteText(quote, cli.style));
    if (quote.windows.every(fails)) throw new SaidError('no line would be answered');
  });

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
