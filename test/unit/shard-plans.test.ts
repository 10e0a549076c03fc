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
