/** Ids of the log over all shards, parts of limits, and the shards that a worker is told to serve. */
import { compareIds } from '@sluice/admin/log/log-order';
import { idInCell, idInShard, lastInShard } from '@sluice/shared/archive/log-ids';
import { shardFor } from '@sluice/shared/redis/shard';
import { servedShards } from '@sluice/worker/env';
import test from 'ava';

const SHARDS = [0, 1, 2, 63];
const IDS = ['1763220000000-0', '1763220000000-1', '1763220000000-7', '1763220000001-0'];

test('ids of all shards are different, in one order, and those of the first stay as they are', (t) => {
  const all = SHARDS.flatMap((shard) => IDS.map((id) => idInCell(id, shard)));
  t.is(new Set(all).size, all.length);
  t.deepEqual(
    IDS.map((id) => idInCell(id, 0)),
    IDS,
  );
  for (const shard of SHARDS) for (const id of IDS) t.is(idInShard(idInCell(id, shard), shard), id);
});

test('a place in the cell divides every shard into what is before it and what is not', (t) => {
  for (const place of SHARDS.flatMap((shard) => IDS.map((id) => idInCell(id, shard)))) {
    for (const shard of SHARDS) {
      for (const id of IDS) {
        const isBefore = compareIds(idInCell(id, shard), place) < 0;
        t.is(compareIds(id, idInShard(place, shard)) < 0, isBefore, `${id} of ${shard} and ${place}`);
        const isAfter = compareIds(idInCell(id, shard), place) > 0;
        t.is(compareIds(id, lastInShard(place, shard)) > 0, isAfter, `${id} of ${shard} after ${place}`);
      }
    }
  }
});

test('workspaces are spread over all shards', (t) => {
  const counts = new Array<number>(8).fill(0);
  for (let i = 0; i < 8_000; i++) {
    const shard = shardFor(`team-${i}`, 8);
    counts[shard] = (counts[shard] ?? 0) + 1;
  }
  t.true(Math.min(...counts) > 800 && Math.max(...counts) < 1_200, counts.join(' '));
});

test('a worker serves all shards, or those that it is told', (t) => {
  t.deepEqual(servedShards(undefined, 3), [0, 1, 2]);
  t.deepEqual(servedShards('1-2, 5', 8), [1, 2, 5]);
  for (const wrong of ['', '4', '2-9', 'all', '1-', '-1'])
    t.throws(() => servedShards(wrong, 4), undefined, wrong);
});
