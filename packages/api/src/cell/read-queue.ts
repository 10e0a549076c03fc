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

/** The queues of a provider in these shards as one. */
export function sumQueues(readings: readonly QueueReading[]): QueueReading {
  const [first, ...others] = readings;
  if (!first) throw new Error('there is no queue');
  return others.reduce(
    (sum, each) => ({
      provider: sum.provider,
      waiting: sum.waiting + each.waiting,
      prioritized: sum.prioritized + each.prioritized,
      parked: sum.parked + each.parked,
      active: sum.active + each.active,
      paused: sum.paused && each.paused,
      concurrency:
        sum.concurrency === undefined || each.concurrency === undefined
          ? (sum.concurrency ?? each.concurrency)
          : sum.concurrency + each.concurrency,
      oldestMs: Math.max(sum.oldestMs, each.oldestMs),
    }),
    first,
  );
}

export async function readQueue(queue: ChatQueue, clock: Clock, provider: string): Promise<QueueReading> {
  const { oldest, ...counts } = await queue.look(provider);
  return { provider, ...counts, oldestMs: oldest === undefined ? 0 : Math.max(0, clock.now() - oldest) };
}
