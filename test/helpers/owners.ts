import { shardFor } from '@sluice/shared/redis/shard';

/** For each of so many shards a workspace that gets it. */
export function ownersOf(shards: number): string[] {
  return Array.from({ length: shards }, (_, shard) => {
    for (let i = 0; ; i++) if (shardFor(`team-${i}`, shards) === shard) return `team-${i}`;
  });
}
