import type { Router } from '@koa/router';
import type { QueueReading } from '@sluice/api/cell/read-queue';
import type { ProviderStatus, Status } from '@sluice/shared/admin-api';
import type { CopyStates } from '@sluice/shared/archive/state';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import type { Presence } from '@sluice/shared/process/presence';
import type { CircuitBreakers } from '@sluice/shared/providers/circuit-breakers';
import type { CoolDowns } from '@sluice/shared/providers/cool-downs';
import type { AnnouncedLimits, AnnouncedRate, BucketType } from '@sluice/shared/queue/announced-limits';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { LIMIT_NAMES } from '@sluice/shared/queue/rate-state';
import type { Clock } from '@sluice/shared/redis/clock';
import { type RedisServerFacts, worriesOf } from '@sluice/shared/redis/server';
import type { LiveRegistry } from '@sluice/shared/registry/live-registry';
import { seenBy } from '../access/guard.js';
import { iso } from '../http/present.js';

export interface RedisReading {
  usedBytes: number;
  /** 0: there is no limit. */
  limitBytes: number;
  logEntries: number;
  server: RedisServerFacts;
}

export interface StatusParts {
  clock: Clock;
  providers: ReadonlyMap<string, ProviderConfig>;
  registry: LiveRegistry;
  coolDowns: CoolDowns;
  circuits: CircuitBreakers;
  presence: Presence;
  announced: Pick<AnnouncedLimits, 'list'>;
  readQueue(provider: string): Promise<QueueReading>;
  readConcurrencyChange: ChatQueue['concurrencyChange'];
  readRedis(): Promise<RedisReading>;
  readCopies(): Promise<CopyStates>;
  /** Why this api cannot read PostgreSQL, as a sentence. */
  readArchiveProblem(): Promise<string | undefined>;
}

/** /status: the processes, the queues, the cool-downs and the circuits. */
export function addStatusRoutes(router: Router, parts: StatusParts): void {
  const { announced, clock, providers, registry, coolDowns, circuits, presence } = parts;
  const { readQueue, readConcurrencyChange, readRedis, readCopies, readArchiveProblem } = parts;

  const presentProvider = async ({
    name,
    kind,
    prices,
    concurrency,
    maxBacklog,
  }: ProviderConfig): Promise<ProviderStatus> => {
    const [queue, change] = await Promise.all([
      readQueue(name),
      concurrency === 'auto' ? readConcurrencyChange(name) : undefined,
    ]);
    const { waiting, prioritized, parked, active, paused, oldestMs } = queue;
    const { state, until } = circuits.get(name);
    return {
      name,
      kind,
      prices,
      waiting: waiting + prioritized,
      parked,
      max_backlog: maxBacklog,
      oldest_waiting_ms: Math.round(oldestMs),
      active,
      concurrency: queue.concurrency ?? 0,
      concurrency_change: change ? { reason: change.reason, at: iso(change.at) } : null,
      found_limits: announced.list(name).flatMap(({ key, model, rates }) =>
        (Object.entries(rates) as [BucketType, AnnouncedRate][]).flatMap(([type, { found }]) =>
          found && found.limit > 0
            ? {
                ...{ type: LIMIT_NAMES[type], key: key === '' ? null : key, model, limit: found.limit },
                ...{ reason: found.why, at: iso(found.changed) },
              }
            : [],
        ),
      ),
      paused,
      circuit: { state, until: state === 'open' ? iso(until) : null },
      cool_downs: coolDowns.list(name).map(({ model, tier, until }) => ({
        model,
        service_tier: tier,
        until: iso(until),
        remaining_ms: Math.ceil(until - clock.now()),
      })),
    };
  };

  router.get('/status', async (ctx) => {
    // Machines and memory concern all workspaces, so only somebody who sees all of them sees these.
    const isWhole = seenBy(ctx) === undefined;
    const [processes, shown, redis, { postgres, files }, problem] = await Promise.all([
      presence.alive(),
      Promise.all([...providers.values()].map(presentProvider)),
      readRedis(),
      readCopies(),
      readArchiveProblem(),
    ]);
    ctx.body = {
      object: 'status',
      time: iso(clock.now()),
      processes: (isWhole ? processes : [])
        .sort((a, b) => (a.role === b.role ? a.startedAt - b.startedAt : a.role < b.role ? -1 : 1))
        .map(({ id, role, host, pid, startedAt, seenAt, problems, payload }) => ({
          id,
          role,
          host,
          pid,
          started_at: iso(startedAt),
          seen_at: iso(seenAt),
          problems: problems ?? [],
          payload_key: payload?.writes ?? null,
          payload_keys: payload?.holds ?? [],
        })),
      providers: shown,
      redis: isWhole
        ? {
            memory_used_bytes: redis.usedBytes,
            memory_limit_bytes: redis.limitBytes === 0 ? null : redis.limitBytes,
            request_log_entries: redis.logEntries,
            product: redis.server.product,
            version: redis.server.version,
            warnings: worriesOf(redis.server).map(({ text }) => text),
          }
        : null,
      copies: {
        postgres:
          isWhole && postgres
            ? {
                behind_ms: postgres.behindMs,
                spilled_entries: postgres.spilled,
                problem: problem ?? null,
              }
            : null,
        files: isWhole && files ? { behind_ms: files.behindMs } : null,
      },
      registry: { version: registry.current.version, models: registry.current.models.length },
    } satisfies Status;
  });
}
