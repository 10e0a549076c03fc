/** The chores of an api process, which it repeats beside answering callers. */
import { Chores } from '@sluice/shared/process/chores';
import { type Period, whileIdle } from '@sluice/shared/process/repeat-every';
import { requireSecretAgreement } from '@sluice/shared/process/secret-agreement';
import { isRedisFull } from '@sluice/shared/redis/away';
import { FIRST_SHARD } from '@sluice/shared/redis/shard';
import type { ApiOptions, ApiParts, ApiShardParts } from './assemble.js';
import { CONFIRM_EVERY_MS, CONFIRM_WHILE_IDLE_MS } from './cell/directory-cache.js';
import { WRITE_KEY_USE_EVERY_MS } from './cell/key-use.js';
import { LOOK_EVERY_MS as REGISTRY_LOOK_MS, RegistrySchedule } from './cell/registry-schedule.js';
import { LOOK_FOR_ENDS_EVERY_MS } from './chat/request-ends.js';
import { SWEEP_EVERY_MS } from './chat/safety-net.js';
import type { Connections } from './connect.js';

const HOUSEKEEPING = whileIdle(2_000, 1_000);
/** For what this process is told of when it happens. It reads all of it again, in case a message was lost. */
const READ_AGAIN_EVERY_MS = 6_000;
const SELDOM_WHILE_IDLE = whileIdle(6_000, 1_000);
/** A small part of the time for which Redis keeps it. */
const KEEP_INBOX_EVERY_MS = 20_000;
const LOG_REFUSALS_EVERY_MS = 6_000;
const COUNT_REFUSALS_EVERY_MS = 2_000;
const REMOVE_FILES_EVERY_MS = 10_000;

/** Does each chore once, so that the process starts with current knowledge, and then repeats it. */
export async function startChores(
  options: ApiOptions,
  parts: ApiParts,
  connections: Connections,
): Promise<Chores> {
  const { descriptors, live, logger } = options;
  const { redis, subscriber } = connections;
  const { clock, coolDowns, circuits, presence, connectionLimit } = parts;
  const housekeeping: Record<string, () => Promise<unknown>> = {
    presence: () =>
      parts.neighbours.look([...descriptors.problems(), ...connectionLimit.problems(), ...live.warnings]),
    metrics: () => parts.directoryWatch.refresh(parts.directory.version),
    // A subscriber sends nothing by itself. The ping shows whether its connection still works.
    subscription: () => subscriber.ping(),
    'model registry': () => parts.registry.refresh(),
    'added providers': () => parts.takeUpAdded(),
  };
  // What a full Redis refuses now is done when there is room.
  const waitForRoom = (error: unknown) => {
    if (!isRedisFull(error)) throw error;
  };
  const seldom: typeof housekeeping = {
    'announced limits': () => parts.announced.refresh(),
    clock: () => clock.synchronise(redis, 1),
  };
  await Promise.all(Object.values({ ...housekeeping, ...seldom }).map((work) => work().catch(waitForRoom)));
  const keeps = parts.shards.map(keepShard);
  const [first, ...others] = keeps;
  await first?.().catch(waitForRoom);
  await Promise.allSettled(others.map((keep) => keep()));
  await requireSecretAgreement(presence);

  const chores = new Chores(logger);
  for (const [name, work] of Object.entries(housekeeping)) chores.every(HOUSEKEEPING, name, work);
  for (const [name, work] of Object.entries(seldom)) chores.every(SELDOM_WHILE_IDLE, name, work);
  chores.every(READ_AGAIN_EVERY_MS, 'cool-downs', () => coolDowns.refresh());
  chores.every(READ_AGAIN_EVERY_MS, 'circuits', () => circuits.refresh());
  chores.every(HOUSEKEEPING, 'looking at gateway.yaml', () => live.look(), false);
  chores.every(whileIdle(CONFIRM_WHILE_IDLE_MS, CONFIRM_EVERY_MS), 'directory', () =>
    parts.directory.confirm(),
  );
  chores.every(WRITE_KEY_USE_EVERY_MS, 'last use of keys', () => parts.keyUse.write(), false);
  chores.every(COUNT_REFUSALS_EVERY_MS, 'counting refusals', () => parts.turnedAway.write(), false);
  for (const [i, shard] of parts.shards.entries()) startShardChores(chores, shard, keeps[i]);
  scheduleRefreshes(chores, options, parts, connections);
  return chores;
}

/** Everything in a process needs the first shard. Without another one it still serves the workspaces of the rest. */
function startShardChores(
  chores: Chores,
  shard: ApiShardParts,
  keep = async (): Promise<unknown> => undefined,
): void {
  const { id, redis, inbox, clock, safetyNet, dispatcher, requestEnds, refusals, files, runner, webhooks } =
    shard;
  const isFirst = id === FIRST_SHARD;
  const every = (ms: Period, name: string, work: () => Promise<unknown>, essential = isFirst) =>
    chores.every(ms, isFirst ? name : `${name} of shard ${id}`, work, essential);
  every(HOUSEKEEPING, 'memory', keep);
  every(KEEP_INBOX_EVERY_MS, 'inbox', () => inbox.keep(redis));
  every(SWEEP_EVERY_MS, 'looking for lost requests', () => safetyNet.sweep(dispatcher));
  every(LOOK_FOR_ENDS_EVERY_MS, 'ending requests in the background', () => requestEnds.look(), false);
  every(LOG_REFUSALS_EVERY_MS, 'logging refusals', () => refusals.log(clock.now()), false);
  every(REMOVE_FILES_EVERY_MS, 'removal of files', () => files.removeDue(), false);
  every(HOUSEKEEPING, 'looking for batches', () => runner.look(), false);
  every(HOUSEKEEPING, 'telling webhooks', () => webhooks.look(), false);
  every(READ_AGAIN_EVERY_MS, 'sending to webhooks', () => webhooks.sendIfUsed(), false);
}

function keepShard(
  { id, redis, memory, clock }: ApiShardParts,
  place: number,
  all: readonly ApiShardParts[],
): () => Promise<unknown> {
  const isFirstOfRedis = all.findIndex((each) => each.memory === memory) === place;
  return () =>
    Promise.all([
      isFirstOfRedis ? memory.check() : undefined,
      // The time of the first shard is that of the cell.
      id === FIRST_SHARD ? undefined : clock.synchronise(redis, 1),
    ]);
}

function scheduleRefreshes(
  chores: Chores,
  { live: { config }, logger }: ApiOptions,
  { names, registryStore: store, refresh, clock }: ApiParts,
  { redis }: Connections,
): void {
  const { url, refreshMs: periodMs } = config.registry;
  if (url === undefined) return;
  const schedule = new RegistrySchedule({ redis, names, store, refresh, clock, logger, url, periodMs });
  const everyMs = Math.min(REGISTRY_LOOK_MS, periodMs);
  chores.every(everyMs, 'refresh of the model registry', () => schedule.look(), false);
}
