import type { Shard, WorkspaceMove, WorkspaceState } from '@sluice/shared/admin-api';
import type { Command } from 'commander';
import { path } from '../admin/client.js';
import { parseShard } from '../arguments/parse-arguments.js';
import type { Cli } from '../cli.js';
import { CliError } from '../output/cli-error.js';
import { count, megabytes, whole } from '../output/format.js';
import { group, withExamples } from './examples.js';
import { type MoveOptions, movedText, moveWorkspace, withMoveOptions } from './move-workspace.js';

export interface PlannedMove {
  workspace: string;
  from: number;
  to: number;
}

export function addShardCommands(program: Command, cli: Cli): void {
  const shards = group(
    program,
    'shards',
    'The parts of a gateway whose SLUICE_SHARDS is above 1. A workspace lives in one of them.',
    'shards list',
    'shards spread',
  );

  withExamples(
    shards.command('list', { isDefault: true }).description('List the shards, with what each has.'),
    'shards list',
    'shards list --json',
  ).action(async () => {
    cli.showTable(
      await cli.admin.list<Shard>('/shards'),
      [
        { title: 'SHARD', right: true, cell: ({ shard }) => String(shard) },
        {
          title: 'STATE',
          cell: ({ up, open }) => (up ? (open ? 'open' : 'closed') : 'away'),
          paint: ({ up }) => (up ? undefined : cli.style.bad),
        },
        { title: 'WORKSPACES', right: true, cell: ({ workspaces }) => whole(workspaces) },
        { title: 'MOVING', right: true, cell: ({ moving }) => whole(moving) },
        { title: 'WAITING', right: true, cell: ({ waiting }) => whole(waiting) },
        { title: 'RUNNING', right: true, cell: ({ active }) => whole(active) },
        {
          title: 'REDIS MEMORY',
          right: true,
          cell: ({ memory_used_bytes: used }) => (used === null ? '' : megabytes(used)),
        },
      ],
      'There are no shards.',
    );
  });

  withExamples(
    withMoveOptions(
      shards
        .command('spread')
        .description(
          'Move workspaces, one after the other, until each shard has as many as the others. None of their calls fails.',
        ),
    ).option('-y, --yes', 'do not ask'),
    'shards spread',
    'shards spread --yes',
  ).action(async ({ yes, ...options }: MoveOptions & { yes?: boolean }) => {
    const { open, workspaces } = await readShards(cli);
    await run(cli, planSpread(open, workspaces), options, yes);
  });

  withExamples(
    withMoveOptions(
      shards
        .command('empty')
        .description(
          'Move all workspaces of a shard to the others, one after the other, and give it no new ones. None of their calls fails. Log and spend of the time before stay there, unless it is given up.',
        )
        .argument('<shard>', 'number of the shard', parseShard),
    )
      .option(
        '--give-up',
        'then bring its spend to shard 0 and remove its log, so that SLUICE_SHARDS can be lowered',
      )
      .option('-y, --yes', 'do not ask'),
    'shards empty 7',
    'shards empty 7 --give-up --yes',
  ).action(async (shard: number, { yes, giveUp, ...options }: EmptyOptions) => {
    const { shards, open, workspaces } = await readShards(cli);
    if (!shards.includes(shard)) throw new CliError(`there is no shard ${shard}`);
    const others = open.filter((each) => each !== shard);
    if (others.length === 0) throw new CliError('there is no other shard that is open');
    await cli.confirm(`Emptying shard ${shard}${giveUp ? ', and removing its log,' : ''}`, yes);
    await cli.admin.send<Shard>('PATCH', path`/shards/${String(shard)}`, { open: false });
    await run(cli, planEmpty([...others, shard], workspaces, shard), options, true);
    if (!giveUp) return;
    await cli.admin.send<Shard>('DELETE', path`/shards/${String(shard)}`);
    cli.note(`Nothing is left in shard ${shard}.`);
  });

  withExamples(
    shards
      .command('open')
      .description('Give a shard new workspaces again, after it was emptied.')
      .argument('<shard>', 'number of the shard', parseShard),
    'shards open 7',
  ).action(async (shard: number) => {
    const changed = await cli.admin.send<Shard>('PATCH', path`/shards/${String(shard)}`, { open: true });
    cli.show(changed, () => `Shard ${shard} gets new workspaces again.`);
  });
}

type EmptyOptions = MoveOptions & { yes?: boolean; giveUp?: boolean };
type Homes = ReadonlyMap<string, number>;

async function readShards(cli: Cli): Promise<{ shards: number[]; open: number[]; workspaces: Homes }> {
  const [shards, workspaces] = await Promise.all([
    cli.admin.list<Shard>('/shards'),
    cli.admin.list<WorkspaceState>('/workspaces'),
  ]);
  return {
    shards: shards.map(({ shard }) => shard),
    open: shards.filter(({ open }) => open).map(({ shard }) => shard),
    workspaces: new Map(workspaces.map(({ id, shard = 0 }) => [id, shard])),
  };
}

/** As few moves as possible: from the shard with the most workspaces to the one with the fewest. */
export function planSpread(shards: readonly number[], workspaces: Homes): PlannedMove[] {
  const moves: PlannedMove[] = [];
  const of = byShard(shards, workspaces);
  for (;;) {
    const [from, to] = [mostOf(of, shards), fewestOf(of, shards)];
    if ((of.get(from)?.length ?? 0) - (of.get(to)?.length ?? 0) < 2) return moves;
    const workspace = of.get(from)?.pop() ?? '';
    of.get(to)?.unshift(workspace);
    moves.push({ workspace, from, to });
  }
}

export function planEmpty(shards: readonly number[], workspaces: Homes, shard: number): PlannedMove[] {
  const of = byShard(shards, workspaces);
  const others = shards.filter((each) => each !== shard);
  return (of.get(shard) ?? []).map((workspace) => {
    const to = fewestOf(of, others);
    of.get(to)?.push(workspace);
    return { workspace, from: shard, to };
  });
}

function byShard(shards: readonly number[], workspaces: Homes): Map<number, string[]> {
  const of = new Map(shards.map((shard) => [shard, [] as string[]]));
  for (const [id, shard] of workspaces) of.get(shard)?.push(id);
  return of;
}

function fewestOf(of: ReadonlyMap<number, readonly string[]>, among: readonly number[]): number {
  return among.reduce((best, each) => (sizeOf(of, each) < sizeOf(of, best) ? each : best), among[0] ?? 0);
}

function mostOf(of: ReadonlyMap<number, readonly string[]>, among: readonly number[]): number {
  return among.reduce((best, each) => (sizeOf(of, each) > sizeOf(of, best) ? each : best), among[0] ?? 0);
}

function sizeOf(of: ReadonlyMap<number, readonly string[]>, shard: number): number {
  return of.get(shard)?.length ?? 0;
}

/** One that cannot move now does not keep the others from it. */
async function run(
  cli: Cli,
  moves: readonly PlannedMove[],
  options: MoveOptions,
  yes?: boolean,
): Promise<void> {
  const moved: WorkspaceMove[] = [];
  const failed: string[] = [];
  if (moves.length > 0) await cli.confirm(`Moving ${count(moves.length, 'workspace')}`, yes);
  for (const [i, { workspace, to }] of moves.entries()) {
    const place = `${i + 1}/${moves.length}`;
    try {
      const done = await moveWorkspace(cli, workspace, to, options);
      moved.push(done);
      cli.note(`${place} ${movedText(done)}`);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      failed.push(workspace);
      cli.note(`${place} ${workspace}: ${error.message}`);
    }
  }
  cli.show(moved, () =>
    moves.length === 0 ? 'There is nothing to move.' : `Moved ${count(moved.length, 'workspace')}.`,
  );
  if (failed.length > 0) throw new CliError(`not moved: ${failed.join(', ')}; try again later`);
}
