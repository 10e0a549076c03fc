/**
 * Jobs that a newer version has queued and this one does not understand. Before a rollback ends the newer workers, these jobs
 * have to be done, because nobody else can do them.
 */
import { Presence } from '@sluice/shared/process/presence';
import { isSpoken } from '@sluice/shared/process/protocol';
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { ChatJob } from '@sluice/shared/queue/job';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ControlNames } from '@sluice/shared/redis/key-names';
import type { connectPatiently } from '@sluice/shared/redis/redis';
import type { ShardKeys } from '@sluice/shared/redis/shard';

/** A newer api process has seen the older workers within this time, and queues only what they understand from then on. */
const QUIET_MS = 5_000;
const LOOK_EVERY_MS = 500;

export interface NewerJobsParts {
  redis: ReturnType<typeof connectPatiently>;
  names: ControlNames;
  shards: readonly ShardKeys[];
  clock: Clock;
  providers: readonly string[];
}

/** Waits until no such job is left, and tells how many there are. Returns how many are left when the time is over. */
export async function waitForNewerJobs(
  { redis, names, shards, clock, providers }: NewerJobsParts,
  maxMs: number,
  tell: (left: number) => void,
): Promise<number> {
  const queues = shards.map(({ redis, names }) => new ChatQueue(redis, { names, keptAnswerBytes: 0 }));
  const presence = new Presence(redis, names, clock, { id: 'waiting', role: 'api' });
  const added = Object.keys(await redis.hgetall(names.addedProviders));
  const started = performance.now();
  let [quietSince, told] = [started, 0];
  try {
    for (;;) {
      const left = await count(queues, [...providers, ...added]);
      const now = performance.now();
      if (left > 0) quietSince = now;
      if (left !== told) tell(left);
      told = left;
      const mayCome = (await presence.alive()).some(({ protocols }) => !isSpoken(protocols?.newest));
      if (left === 0 && (!mayCome || now - quietSince >= QUIET_MS)) return 0;
      if (now - started >= maxMs) return left;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  } finally {
    await Promise.all(queues.map((queue) => queue.close()));
  }
}

async function count(queues: readonly ChatQueue[], providers: readonly string[]): Promise<number> {
  const all = queues.flatMap((queue) => providers.map((provider) => queue.of(provider)));
  const counts = all.map(async (queue) => {
    const jobs = await queue.getJobs(['wait', 'prioritized', 'delayed', 'active']);
    // A job may have ended since its id was read.
    return jobs.filter((job) => job && !isSpoken((job.data as Partial<ChatJob>).protocol)).length;
  });
  return (await Promise.all(counts)).reduce((sum, each) => sum + each, 0);
}
