/** The chores of a worker process, which it repeats beside running jobs. */
import type { Chores } from '@sluice/shared/process/chores';
import { LOOK_EVERY_MS } from '@sluice/shared/process/live-config';
import type { WorkerOptions, WorkerParts } from './assemble.js';
import type { Connections } from './connect.js';
import { LOOK_FOR_STEPS_EVERY_MS } from './jobs/provider-batches.js';
import type { QueueWorkers } from './jobs/queue-workers.js';

const HOUSEKEEPING_MS = 1_000;

export function startChores(
  chores: Chores,
  { live, descriptors }: WorkerOptions,
  {
    presence,
    coolDowns,
    circuits,
    callers,
    clock,
    registry,
    directoryWatch,
    slots,
    foundRates,
    upstreams,
    takeUpAdded,
    batchSteps,
    outputs,
    trim,
  }: WorkerParts & { takeUpAdded(): Promise<void>; trim(maxEntries: number): Promise<number> },
  { redis, subscriber }: Connections,
  workers: QueueWorkers,
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
    'taking jobs': () => workers.check(),
    'cool-downs': () => coolDowns.refresh(),
    'announced limits': () => foundRates.refresh(),
    circuits: () => circuits.refresh(),
    callers: () => callers.write(),
    clock: () => clock.synchronise(redis, 1),
    'model registry': () => registry.refresh(),
    directory: () => directoryWatch.refresh(),
    'added providers': takeUpAdded,
    'limits of providers': () => slots.set(),
    // A subscriber sends nothing by itself. The ping shows whether its connection still works.
    subscription: () => subscriber.ping(),
  }))
    chores.every(HOUSEKEEPING_MS, chore, work);
  chores.every(LOOK_FOR_STEPS_EVERY_MS, 'batches at providers', () => batchSteps.look(), false);
  chores.every(HOUSEKEEPING_MS, 'lengths of answers', () => outputs.write(), false);
  chores.every(LOOK_EVERY_MS, 'looking at gateway.yaml', () => live.look(), false);
  chores.every(HOUSEKEEPING_MS, 'queues of removed providers', () => workers.tidy(), false);
  const { maxEntries } = config.requestLog;
  chores.every(HOUSEKEEPING_MS, 'trimming the log', () => trim(maxEntries), false);
}
