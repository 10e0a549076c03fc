import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { Clock } from '@sluice/shared/redis/clock';

export interface QueueReading {
  provider: string;
  waiting: number;
  prioritized: number;
  parked: number;
  active: number;
  paused: boolean;
  /** How many calls may run at a time. */
  concurrency: number | undefined;
  /** How long the request that waits longest has waited. */
  oldestMs: number;
}

export async function readQueue(queue: ChatQueue, clock: Clock, provider: string): Promise<QueueReading> {
  const { oldest, ...counts } = await queue.look(provider);
  return { provider, ...counts, oldestMs: oldest === undefined ? 0 : Math.max(0, clock.now() - oldest) };
}
