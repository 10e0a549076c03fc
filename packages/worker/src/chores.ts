/** What a worker process does again and again beside running jobs. */
import type { GatewayConfig } from '@sluice/shared/config/config';
import type { Chores } from '@sluice/shared/process/chores';
import { trimLog } from '@sluice/shared/queue/log-trim';
import type { Queues } from '@sluice/shared/queue/queues';
import type { WorkerOptions, WorkerParts } from './assemble.js';
import type { Connections } from './connect.js';

export const HOUSEKEEPING_MS = 1_000;

export function startChores(
  chores: Chores,
  { config, descriptors }: WorkerOptions,
  {
    names,
    presence,
    coolDowns,
    circuits,
    callers,
    clock,
    registry,
    directoryWatch,
    queues,
    keyless,
  }: WorkerParts,
  { redis, subscriber }: Connections,
): void {
  for (const [chore, work] of Object.entries({
    presence: () => presence.announce([...descriptors.problems(), ...keyless]),
    'cool-downs': () => coolDowns.refresh(),
    circuits: () => circuits.refresh(),
    callers: () => callers.write(),
    clock: () => clock.synchronise(redis, 1),
    'model registry': () => registry.refresh(),
    directory: () => directoryWatch.refresh(),
    // A Redis that lost its data must not leave the providers without a limit.
    'limits of providers': () => setLimits(queues, config),
    // A subscriber is only told; this shows whether it still can be.
    subscription: () => subscriber.ping(),
  }))
    chores.every(HOUSEKEEPING_MS, chore, work);
  const { maxEntries } = config.requestLog;
  chores.every(
    HOUSEKEEPING_MS,
    'trimming the log',
    () => trimLog(redis, names, maxEntries, clock.now()),
    false,
  );
}

/** How many calls of each provider may run at once, over all workers. */
export async function setLimits(queues: Queues, { providers }: GatewayConfig): Promise<void> {
  await Promise.all(
    [...providers.values()].map(({ name, concurrency }) => queues.of(name).setGlobalConcurrency(concurrency)),
  );
}
