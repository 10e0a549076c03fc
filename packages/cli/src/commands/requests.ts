import { pipeline } from 'node:stream/promises';
import type { PresentedRequest, RequestPage } from '@sluice/shared/admin-api';
import { requestsQuery, SAVED_AS, SORTS } from '@sluice/shared/contract/query';
import { type Command, Option } from 'commander';
import { path, type Query } from '../admin/client.js';
import { followRequests } from '../admin/follow-requests.js';
import { parseAs, parseCount, parseWhen } from '../arguments/parse-arguments.js';
import type { Cli } from '../cli.js';
import { UsageError } from '../output/cli-error.js';
import { countBytes } from '../output/count-bytes.js';
import { requestColumns } from '../output/request-columns.js';
import { requestText } from '../output/request-text.js';
import { createRowWriter } from '../output/table.js';
import { SINCE, UNTIL, withExamples } from './examples.js';

const PAGE = 200;
const DEFAULT_LIMIT = 50;
/** How many requests are shown before those that are still to come. */
const BEFORE_FOLLOWING = 10;

interface Options {
  since?: string;
  until?: string;
  workspace?: string;
  route?: string;
  provider?: string;
  model?: string;
  key?: string;
  code?: string;
  reason?: string;
  status?: string;
  tag?: string;
  user?: string;
  minMs?: string;
  maxMs?: string;
  minCost?: string;
  maxCost?: string;
  fallback?: boolean;
  sort?: string;
  limit?: number;
  follow?: boolean;
  export?: string;
}

export function addRequestCommands(program: Command, cli: Cli): void {
  withExamples(
    program
      .command('requests')
      .description(
        'Show the request log: every accepted request, without its prompt and its answer. Times are those at which a request ended.',
      )
      .argument('[id]', 'id of one request, to see its steps and its price')
      .option('--since <when>', SINCE, parseWhen('beginning'))
      .option('--until <when>', UNTIL, parseWhen('end'))
      .option('--workspace <workspace>', 'only this workspace')
      .option('--route <alias>', 'only this route')
      .option('--provider <provider>', 'only those that this provider served, or failed last')
      .option('--model <model>', 'only this model: what the caller sent, or what was called')
      .option('--key <id>', 'only this key, by its id')
      .option('--code <code>', 'only this error, such as rate_limited')
      .option('--reason <reason>', 'only this reason, such as budget_spent; docs/errors.md lists them')
      .option(
        '--status <status>',
        'only this status, such as 429, 5xx, or error for all that were not served',
        parseAs(requestsQuery.schema.status),
      )
      .option('--tag <name=value>', 'only those with this tag', parseAs(requestsQuery.schema.tag))
      .option('--user <user>', 'only this end user of the caller')
      .option(
        '--min-ms <ms>',
        'only those that took at least this long',
        parseAs(requestsQuery.schema.min_ms),
      )
      .option('--max-ms <ms>', 'only those that took at most this long', parseAs(requestsQuery.schema.max_ms))
      .option(
        '--min-cost <usd>',
        'only those that cost at least this much',
        parseAs(requestsQuery.schema.min_cost_usd),
      )
      .option(
        '--max-cost <usd>',
        'only those that cost at most this much',
        parseAs(requestsQuery.schema.max_cost_usd),
      )
      .option('--fallback', 'only those that an entry other than the first served')
      .addOption(
        new Option('--sort <order>', 'the newest, the longest or the most expensive; default: time')
          .choices(SORTS)
          .conflicts(['follow', 'export']),
      )
      .addOption(
        new Option('-n, --limit <n>', `how many requests; default: ${DEFAULT_LIMIT}`).argParser(parseCount),
      )
      .option('-f, --follow', 'the latest requests, then each one as it ends; with --json, one object a line')
      .addOption(
        new Option('--export <format>', 'write all requests to stdout, oldest first')
          .choices(SAVED_AS)
          .conflicts(['follow', 'limit']),
      ),
    'requests --since 1h --status 5xx',
    'requests --since "yesterday 14:00" --until "yesterday 15:00" --status error',
    'requests --since 1h --reason budget_spent',
    'requests --follow --workspace demo',
    'requests --since 7d --tag feature=search --sort cost',
    'requests --since 7d --export csv > requests.csv',
    'requests req_Vh3kq0ZsTn1mXb2yJw5d',
  ).action(async (id: string | undefined, options: Options) => {
    const { limit, follow = false, export: format, key, minMs, maxMs, minCost, maxCost, ...filter } = options;
    const query: Query = {
      ...filter,
      fallback: filter.fallback ? 'true' : undefined,
      ...{ key_id: key, min_ms: minMs, max_ms: maxMs, min_cost_usd: minCost, max_cost_usd: maxCost },
    };
    if (id !== undefined) {
      if (Object.keys(options).length > 0) throw new UsageError('give an id or options, not both');
      const request = await cli.admin.get<PresentedRequest>(path`/requests/${id}`);
      cli.show(request, () => requestText(request, cli.style));
    } else if (format !== undefined) await exportRequests(cli, query, format);
    else if (follow) await followAll(cli, query, limit ?? BEFORE_FOLLOWING);
    else await listRequests(cli, query, limit ?? DEFAULT_LIMIT);
  });
}

async function listRequests(cli: Cli, query: Query, limit: number): Promise<void> {
  const rows = (await latest(cli, query, limit)).toReversed();
  cli.showTable(rows, requestColumns(cli.style), 'No request matches.');
}

/** Newest first. */
async function latest(cli: Cli, query: Query, limit: number): Promise<PresentedRequest[]> {
  const rows: PresentedRequest[] = [];
  let before: string | undefined;
  let problem: string | null = null;
  do {
    const page = await cli.admin.get<RequestPage>('/requests', {
      ...query,
      before,
      limit: Math.min(PAGE, limit - rows.length),
    });
    rows.push(...page.data);
    before = page.next_before ?? undefined;
    problem ??= page.problem;
    if (limit > PAGE) cli.progress(`${rows.length} requests read…`);
  } while (before !== undefined && rows.length < limit);
  cli.progress('');
  if (problem !== null) cli.note(`sluice: older requests may be missing. ${problem}`);
  return rows;
}

async function followAll(cli: Cli, query: Query, limit: number): Promise<void> {
  if (query.since !== undefined || query.until !== undefined)
    throw new UsageError('--follow shows what is still to come; leave --since and --until out');
  const rows = (await latest(cli, query, limit)).toReversed();
  const writer = createRowWriter(requestColumns(cli.style), rows, cli.style);
  const show = (request: PresentedRequest) =>
    cli.say(cli.json ? JSON.stringify(request) : writer.row(request));
  if (!cli.json) cli.say(writer.head);
  for (const request of rows) show(request);
  const newest = rows.at(-1)?.cursor;
  for await (const request of followRequests(cli.admin, query, newest, (why) =>
    cli.note(`sluice: ${why}; trying again`),
  ))
    show(request);
}

async function exportRequests(cli: Cli, query: Query, format: string): Promise<void> {
  const body = await cli.admin.stream('/requests/export', { ...query, format });
  const onTerminal = cli.terminal.stdout.isTTY;
  await pipeline(
    body,
    countBytes((bytes) => !onTerminal && cli.progress(`${(bytes / 1e6).toFixed(1)} MB exported…`)),
    cli.terminal.stdout,
    { end: false },
  ).finally(() => cli.progress(''));
}
