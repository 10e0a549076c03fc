import type { DeletedWorkspace, ErasedUser, Workspace, WorkspaceState } from '@sluice/shared/admin-api';
import type { Command } from 'commander';
import { path } from '../admin/client.js';
import { orWord, parseShard } from '../arguments/parse-arguments.js';
import type { Cli } from '../cli.js';
import { UsageError } from '../output/cli-error.js';
import { moment, whole } from '../output/format.js';
import { group, withExamples } from './examples.js';
import { type MoveOptions, movedText, moveWorkspace, withMoveOptions } from './move-workspace.js';

const MODELS_HELP =
  'routes and model ids that callers may use, with commas, * for any characters; all: every one';

interface WorkspaceOptions {
  name?: string;
  models?: string[] | 'all';
}

const parsePatterns = orWord('all', (text) => text.split(',').map((pattern) => pattern.trim()));
const toWire = (models: WorkspaceOptions['models']) => (models === 'all' ? null : models);

export function addWorkspaceCommands(program: Command, cli: Cli): void {
  const workspaces = group(
    program,
    'workspaces',
    'Workspaces. Each has its own keys, routes, limits and spend.',
    'workspaces list',
    'workspaces create team-a --name "Team A"',
  );

  withExamples(
    workspaces.command('list').description('List all workspaces.'),
    'workspaces list',
    'workspaces list --json',
  ).action(async () => {
    const rows = await cli.admin.list<WorkspaceState>('/workspaces');
    cli.showTable(
      rows,
      [
        { title: 'WORKSPACE', cell: ({ id }) => id },
        { title: 'NAME', cell: ({ name }) => name },
        { title: 'MODELS', cell: ({ models }) => models?.join(', ') ?? 'all' },
        { title: 'CREATED', cell: ({ created_at }) => moment(created_at) },
        { title: 'REQUESTS/MIN', right: true, cell: ({ limits }) => whole(limits.requests_per_minute) },
        { title: 'CONCURRENT', right: true, cell: ({ limits }) => whole(limits.concurrent_requests) },
        { title: 'USD/MONTH', right: true, cell: ({ limits }) => whole(limits.budget_usd_per_month) },
        { title: 'REFUSING SINCE', cell: ({ refusing_since }) => moment(refusing_since) },
      ],
      'There are no workspaces. Make one with "sluice workspaces create <id>".',
    );
  });

  withExamples(
    workspaces
      .command('create')
      .description('Create a workspace.')
      .argument('<workspace>', 'its id: a-z, 0-9, _ and -')
      .option('--name <name>', 'what people call it; default: the id')
      .option('--models <patterns>', MODELS_HELP, parsePatterns),
    'workspaces create team-a',
    'workspaces create team-a --name "Team A"',
  ).action(async (id: string, { name, models }: WorkspaceOptions) => {
    const created = await cli.admin.send<Workspace>('POST', '/workspaces', {
      id,
      name,
      models: toWire(models),
    });
    cli.show(
      created,
      () => `Created workspace ${created.id}. Give it a key: sluice keys issue ${created.id} <name>`,
    );
  });

  withExamples(
    workspaces
      .command('set')
      .description('Change a workspace. Its limits are set with "sluice limits set".')
      .argument('<workspace>', 'id of the workspace')
      .option('--name <name>', 'what people call it')
      .option('--models <patterns>', MODELS_HELP, parsePatterns),
    'workspaces set team-a --name "Team A (Berlin)"',
    'workspaces set team-a --models "fast,gpt-4o-*"',
  ).action(async (id: string, options: WorkspaceOptions) => {
    if (Object.keys(options).length === 0) throw new UsageError('give a name or models to set');
    const changed = await cli.admin.send<Workspace>('PATCH', path`/workspaces/${id}`, {
      name: options.name,
      models: toWire(options.models),
    });
    cli.show(changed, () => `Changed workspace ${changed.id}.`);
  });

  withExamples(
    workspaces
      .command('delete')
      .description(
        'Delete a workspace with its keys, routes, files, batches and kept answers. Its request log and its spend stay, and its id stays taken.',
      )
      .argument('<workspace>', 'id of the workspace')
      .option('--erase', 'also erase its log and spend, so that its id is free again')
      .option('-y, --yes', 'do not ask'),
    'workspaces delete team-a',
    'workspaces delete team-a --yes',
    'workspaces delete team-a --erase',
  ).action(async (id: string, { yes, erase }: { yes?: boolean; erase?: boolean }) => {
    const history = erase ? ', its request log and its spend' : '';
    await cli.confirm(`Deleting workspace ${id} with its keys and routes${history}`, yes);
    const deleted = await cli.admin.send<DeletedWorkspace>(
      'DELETE',
      `${path`/workspaces/${id}`}${erase ? '?erase=true' : ''}`,
    );
    cli.show(deleted, () => {
      if (!deleted.erased) return `Deleted workspace ${id}.`;
      const { log_entries, ledger_rows, id_free_at } = deleted.erased;
      return `Deleted workspace ${id}, ${log_entries} log entries and ${ledger_rows} ledger rows. Its id is free from ${moment(id_free_at)} on.`;
    });
  });

  withExamples(
    withMoveOptions(
      workspaces
        .command('move')
        .description(
          'Move a workspace to another shard. Its new requests wait until those that run have ended, and none fails.',
        )
        .argument('<workspace>', 'id of the workspace')
        .requiredOption('--to <shard>', 'number of the shard', parseShard),
    ),
    'workspaces move team-a --to 3',
    'workspaces move team-a --to 3 --wait 2m --patience 24h',
  ).action(async (id: string, { to, ...options }: MoveOptions & { to: number }) => {
    const moved = await moveWorkspace(cli, id, to, options);
    cli.show(moved, () => movedText(moved));
  });

  withExamples(
    workspaces
      .command('erase-user')
      .description(
        'Erase an end user from the request log of a workspace. What was spent stays: it names no end user.',
      )
      .argument('<workspace>', 'id of the workspace')
      .argument('<user>', 'what callers sent as "user"')
      .option('-y, --yes', 'do not ask'),
    'workspaces erase-user team-a customer-42 --yes',
  ).action(async (id: string, user: string, { yes }: { yes?: boolean }) => {
    await cli.confirm(`Erasing an end user from the request log of workspace ${id}`, yes);
    const erased = await cli.admin.send<ErasedUser>('DELETE', path`/workspaces/${id}/users/${user}`);
    const archive = erased.archive === 'none' ? '' : ' PostgreSQL follows within seconds.';
    cli.show(erased, () => `Erased ${erased.log_entries} log entries from Redis.${archive}`);
  });
}
