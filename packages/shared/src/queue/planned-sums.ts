/** What a workspace's requests with a deadline have cost in a month, beside what the standard tier would have. */
import type { Redis } from 'ioredis';
import type { ShardNames } from '../redis/key-names.js';

export interface PlannedSums {
  requests: number;
  /** Those that were not answered before their deadline. */
  missed: number;
  /** Picodollars. */
  cost: bigint;
  standard: bigint;
}

const FIELDS = ['requests', 'missed', 'cost', 'standard'] as const;

/** `month`: such as `2026-11`, UTC. lua/parts/count-planned.lua writes them. */
export async function readPlannedSums(
  redis: Redis,
  names: Pick<ShardNames, 'spent'>,
  workspace: string,
  month: string,
): Promise<PlannedSums> {
  const fields = FIELDS.map((field) => `${month}:planned:${field}`);
  const [requests, missed, cost, standard] = await redis.hmget(names.spent(workspace), ...fields);
  return {
    requests: Number(requests ?? 0),
    missed: Number(missed ?? 0),
    cost: BigInt(cost ?? 0),
    standard: BigInt(standard ?? 0),
  };
}
