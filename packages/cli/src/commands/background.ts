import type { BackgroundRequestObject } from '@sluice/shared/admin-api';
import { LISTED_STATUSES } from '@sluice/shared/contract/completion';
import { type Command, Option } from 'commander';
import { path } from '../admin/client.js';
import { parseCount } from '../arguments/parse-arguments.js';
import type { Cli } from '../cli.js';
import { moment, whole } from '../output/format.js';
import { type Column, table } from '../output/table.js';
import { group, withExamples } from './examples.js';

const PAGE = 100;

const momentOf = (seconds: number | null) =>
  seconds === null ? '' : moment(new Date(seconds * 1000).toISOString());

const COLUMNS: Column<BackgroundRequestObject>[] = [
  { title: 'REQUEST', cell: ({ id }) => id },
  { title: 'MODEL', cell: ({ model }) => model ?? '' },
  {
    title: 'STATUS',
    cell: ({ status, error_code, waits_for }) =>
      [status, error_code ?? waits_for].filter((each) => each !== null).join(', '),
  },
  { title: 'CREATED', cell: ({ created_at }) => momentOf(created_at) },
  { title: 'DEADLINE', cell: ({ deadline_at }) => momentOf(deadline_at) },
  { title: 'ENDED', cell: ({ ended_at }) => momentOf(ended_at) },
];
const ONE: Column<BackgroundRequestObject>[] = [
  ...COLUMNS,
  { title: 'PLACE', right: true, cell: ({ place }) => (place === null ? '' : whole(place)) },
  { title: 'EXPECTED', cell: ({ expected_at }) => momentOf(expected_at) },
];

export function addBackgroundCommands(program: Command, cli: Cli): void {
  const background = group(
    program,
    'background',
    'Requests in the background, with a deadline or without one.',
    'background list demo --status in_progress',
    'background show demo req_Vh3kq0ZsTn1mXb2yJw5d',
    'background cancel demo req_Vh3kq0ZsTn1mXb2yJw5d',
  );

  withExamples(
    background
      .command('list')
      .description('Show the requests in the background of a workspace, the newest first.')
      .argument('<workspace>', 'id of the workspace')
      .addOption(new Option('--status <status>', 'only those with this status').choices(LISTED_STATUSES))
      .addOption(new Option('-n, --limit <n>', `how many; default: ${PAGE}`).argParser(parseCount)),
    'background list demo',
    'background list demo --status in_progress --limit 1000',
  ).action(async (workspace: string, { status, limit = PAGE }: { status?: string; limit?: number }) => {
    const rows = await listAll(cli, workspace, status, limit);
    cli.showTable(rows, COLUMNS, 'There are no such requests.');
  });

  withExamples(
    background
      .command('show')
      .description('Show one request, its place in the queue and when it is expected.')
      .argument('<workspace>', 'id of its workspace')
      .argument('<request>', 'id of the request'),
    'background show demo req_Vh3kq0ZsTn1mXb2yJw5d',
  ).action(async (workspace: string, request: string) => {
    const place = path`/workspaces/${workspace}/background-requests/${request}`;
    const shown = await cli.admin.get<BackgroundRequestObject>(place);
    cli.show(shown, () => table(ONE, [shown], cli.style));
  });

  withExamples(
    background
      .command('cancel')
      .description('Cancel a request. One that is being served is stopped, and the provider may bill it.')
      .argument('<workspace>', 'id of its workspace')
      .argument('<request>', 'id of the request'),
    'background cancel demo req_Vh3kq0ZsTn1mXb2yJw5d',
  ).action(async (workspace: string, request: string) => {
    const place = path`/workspaces/${workspace}/background-requests/${request}/cancel`;
    const changed = await cli.admin.send<BackgroundRequestObject>('POST', place);
    cli.show(changed, () => table(COLUMNS, [changed], cli.style));
  });
}

async function listAll(
  cli: Cli,
  workspace: string,
  status: string | undefined,
  limit: number,
): Promise<BackgroundRequestObject[]> {
  const rows: BackgroundRequestObject[] = [];
  let hasMore = true;
  while (hasMore && rows.length < limit) {
    const page = await cli.admin.get<{ data: BackgroundRequestObject[]; has_more: boolean }>(
      path`/workspaces/${workspace}/background-requests`,
      { status, after: rows.at(-1)?.id, limit: Math.min(PAGE, limit - rows.length) },
    );
    rows.push(...page.data);
    hasMore = page.has_more;
  }
  return rows;
}
