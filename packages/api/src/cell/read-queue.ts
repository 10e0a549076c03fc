import type { Queues } from '@sluice/shared/queue/queues';
import type { Clock } from '@sluice/shared/redis/clock';

export interface QueueReading {
  provider: string;
  waiting: number;
  prioritized: number;
  parked: number;
  active: number;
  paused: boolean;
  /** How long the request that waits longest has waited. */
  oldestMs: number;
}

export async function readQueue(queues: Queues, clock: Clock, provider: string): Promise<QueueReading> {
  const { oldest, ...counts } = await queues.look(provider);
  return { provider, ...counts, oldestMs: oldest === undefined ? 0 : Math.max(0, clock.now() - oldest) };
}
