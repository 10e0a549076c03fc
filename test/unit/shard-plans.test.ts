import { AdminRefusal } from '@sluice/cli/admin/client';
import type { Cli } from '@sluice/cli/cli';
import { moveWorkspace } from '@sluice/cli/commands/move-workspace';
import { planEmpty, planSpread } from '@sluice/cli/commands/shards';
import test from 'ava';

const homes = (counts: readonly number[]) =>
  new Map(
    counts.flatMap((count, shard) =>
      Array.from({ length: count }, (_, i): [string, number] => [`team-${shard}-${i}`, shard]),
    ),
  );
const after = (before: ReadonlyMap<string, number>, moves: readonly { workspace: string; to: number }[]) => {
  const now = new Map([...before, ...moves.map(({ workspace, to }): [string, number] => [workspace, to])]);
  return [0, 1, 2, 3].map((shard) => [...now.values()].filter((home) => home === shard).length);
};

test('workspaces are spread with as few moves as possible, and none moves twice', (t) => {
  const before = homes([9, 1, 0, 0]);
  const moves = planSpread([0, 1, 2, 3], before);
  t.deepEqual(after(before, moves).sort(), [2, 2, 3, 3]);
  t.is(moves.length, 6);
  t.is(new Set(moves.map(({ workspace }) => workspace)).size, moves.length);
  t.true(moves.every(({ workspace, from }) => before.get(workspace) === from));
  t.deepEqual(planSpread([0, 1, 2, 3], homes([2, 2, 3, 3])), []);
});

test('the workspaces of a shard that is emptied go where the fewest are', (t) => {
  const before = homes([2, 4, 1, 3]);
  const moves = planEmpty([0, 1, 2, 3], before, 3);
  t.deepEqual(after(before, moves), [3, 4, 3, 0]);
  t.deepEqual(planEmpty([0, 1, 2, 3], homes([2, 4, 1]), 3), []);
});

/** Refuses so many tries. */
function refusing(times: number, code: string) {
  const notes: string[] = [];
  let tries = 0;
  const send = async () => {
    if (tries++ < times) throw new AdminRefusal('It waits for a batch.', 409, code, {});
    return { from: 0, to: 1 };
  };
  return { notes, cli: { admin: { send }, note: (line: string) => notes.push(line) } as unknown as Cli };
}

test('a move with patience is tried again while the workspace cannot move, and says why once', async (t) => {
  const { cli, notes } = refusing(3, 'conflict');
  t.like(await moveWorkspace(cli, 'team-a', 1, { patience: 5_000 }), { to: 1 });
  t.deepEqual(notes, ['team-a: It waits for a batch. It is tried again.']);
  await t.throwsAsync(moveWorkspace(refusing(1, 'conflict').cli, 'team-a', 1, {}));
  await t.throwsAsync(moveWorkspace(refusing(1, 'not_found').cli, 'team-a', 1, { patience: 1_000 }));
});
