/** Ids of the log over all shards, where shards lie, and the shards that a worker is told to serve. */
import { createRequire } from 'node:module';
import { compareIds } from '@sluice/admin/log/log-order';
import { idInCell, idInShard, lastInShard } from '@sluice/shared/archive/log-ids';
import { MOST_SHARDS, shardFor, shardTag } from '@sluice/shared/redis/shard';
import { servedShards } from '@sluice/worker/env';
import test from 'ava';

/** As ioredis finds the slot of a key. */
const calculateSlot: (key: string) => number = createRequire(import.meta.resolve('ioredis'))(
  'cluster-key-slot',
);

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

test('the shards of any cell lie evenly on the masters of a Cluster, and stay there when more are added', (t) => {
  const slotOf = (tag: string) => calculateSlot(`{${tag}}:queue:clock`);
  for (const cell of ['sluice', 'bench', 'test-0123456789ab', 'a', 'production-eu-west-1'])
    for (const masters of [2, 3, 4, 5, 6, 7, 8, 16, 64])
      for (const shards of [8, 16, 32, MOST_SHARDS].filter((count) => count >= masters)) {
        const counts = new Array<number>(masters).fill(0);
        for (let id = 0; id < shards; id++) {
          const master = Math.floor((slotOf(shardTag(cell, id)) * masters) / 16_384);
          counts[master] = (counts[master] ?? 0) + 1;
        }
        // Where a range ends within a part, a shard may lie on either side.
        const more = 64 % masters === 0 ? 0 : 1;
        const what = `${shards} shards of ${cell} on ${masters} masters: ${counts.join(' ')}`;
        t.true(Math.max(...counts) - Math.min(...counts) <= 1 + more, what);
        t.true(Math.max(...counts) <= Math.ceil(shards / masters) + more, what);
      }
  t.is(shardTag('sluice', 0), 'sluice', 'a cell of one shard has the keys that it always had');
  t.is(new Set(Array.from({ length: MOST_SHARDS }, (_, id) => shardTag('sluice', id))).size, MOST_SHARDS);
});

test('a worker serves all shards, or those that it is told', (t) => {
  t.deepEqual(servedShards(undefined, 3), [0, 1, 2]);
  t.deepEqual(servedShards('1-2, 5', 8), [1, 2, 5]);
  for (const wrong of ['', '4', '2-9', 'all', '1-', '-1'])
    t.throws(() => servedShards(wrong, 4), undefined, wrong);
});
