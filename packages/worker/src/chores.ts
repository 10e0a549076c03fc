/** The chores of a worker process, which it repeats beside running jobs. */
import { ASK_EVERY_MS } from '@sluice/shared/limits/leases';
import type { Chores } from '@sluice/shared/process/chores';
import { type Period, whileIdle } from '@sluice/shared/process/repeat-every';
import { FIRST_SHARD } from '@sluice/shared/redis/shard';
import type { WorkerOptions, WorkerParts } from './assemble.js';
import type { Connections } from './connect.js';
import type { ServedShard } from './take-jobs.js';

const HOUSEKEEPING = whileIdle(2_000, 1_000);
/** For what this process is told of when it happens. It reads all of it again, in case a message was lost. */
const READ_AGAIN_EVERY_MS = 6_000;
const SELDOM_WHILE_IDLE = whileIdle(6_000, 1_000);

export function startChores(
  chores: Chores,
  { live, descriptors, shards: count }: WorkerOptions,
  {
    presence,
    coolDowns,
    circuits,
    callers,
    clock,
    registry,
    directoryWatch,
    announced,
    foundRates,
    leases,
    upstreams,
    takeUpAdded,
  }: WorkerParts & { takeUpAdded(): Promise<void> },
  { redis, subscriber }: Connections,
  shards: readonly ServedShard[],
): void {
  const { config } = live;
  for (const [chore, work] of Object.entries({
    presence: () =>
      presence.announce([
        ...descriptors.problems(),
        ...upstreams.keyless,
        ...live.warnings,
        ...chores.diskProblems,
      ]),
    callers: () => callers.write(),
    'model registry': () => registry.refresh(),
    'added providers': takeUpAdded,
    // A subscriber sends nothing by itself. The ping shows whether its connection still works.
    subscription: () => subscriber.ping(),
  }))
    chores.every(HOUSEKEEPING, chore, work);
  for (const [chore, work] of Object.entries({
    'announced limits': () => (foundRates ?? announced).refresh(),
    clock: () => clock.synchronise(redis, 1),
    directory: () => directoryWatch.refresh(),
  }))
    chores.every(SELDOM_WHILE_IDLE, chore, work);
  chores.every(READ_AGAIN_EVERY_MS, 'cool-downs', () => coolDowns.refresh());
  chores.every(READ_AGAIN_EVERY_MS, 'circuits', () => circuits.refresh());
  chores.every(HOUSEKEEPING, 'looking at gateway.yaml', () => live.look(), false);
  // The shards share the size of the log.
  const maxEntries = Math.ceil(config.requestLog.maxEntries / count);
  for (const [i, shard] of shards.entries()) {
    startShardChores(chores, shard, maxEntries, i === 0);
    if (leases)
      chores.every(ASK_EVERY_MS, `limits lent to shard ${shard.id}`, () => leases.ask(shard), false);
  }
}

/** `isFirst`: without it the process has nothing to do. Without another one it still takes the jobs of the rest. */
function startShardChores(
  chores: Chores,
  { id, redis, clock, slots, workers, batchSteps, outputs, trim }: ServedShard,
  maxEntries: number,
  isFirst: boolean,
): void {
  const every = (ms: Period, name: string, work: () => Promise<unknown>, essential = isFirst) =>
    chores.every(ms, id === FIRST_SHARD ? name : `${name} of shard ${id}`, work, essential);
  every(HOUSEKEEPING, 'taking jobs', () => workers.check());
  if (isFirst) {
    every(SELDOM_WHILE_IDLE, 'limits of providers', () => slots.set());
    every(
      () => slots.period,
      'limits in use',
      () => slots.tell(),
      false,
    );
  }
  if (id !== FIRST_SHARD) every(SELDOM_WHILE_IDLE, 'clock', () => clock.synchronise(redis, 1));
  every(HOUSEKEEPING, 'batches at providers', () => batchSteps.look(), false);
  every(HOUSEKEEPING, 'lengths of answers', () => outputs.write(), false);
  every(HOUSEKEEPING, 'queues of removed providers', () => workers.tidy(), false);
  every(SELDOM_WHILE_IDLE, 'trimming the log', () => trim(maxEntries), false);
}
