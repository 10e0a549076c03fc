/** How the processes, the queues and Redis stand. */
import { moment, momentOrNull, textOrNull, wholeOrNull } from './common.js';
import { KINDS } from './provider.js';
import { LIMIT_TYPES } from './provider-info.js';
import * as s from './structs.js';

/** Why a number of calls at a time that nobody has set was changed. */
export const CONCURRENCY_REASONS = ['start', 'demand', 'refused', 'overloaded'] as const;
export type ConcurrencyReason = (typeof CONCURRENCY_REASONS)[number];

/** Why a limit per minute that nobody has set or announced was changed. */
export const FOUND_REASONS = ['refused', 'demand'] as const;
export type FoundReason = (typeof FOUND_REASONS)[number];

const processStatus = s.fields({
  id: s.text(),
  role: s.choice('api', 'worker'),
  host: s.text(),
  pid: s.whole(),
  started_at: moment,
  seen_at: moment,
  problems: s.list(s.text()).about('What keeps it from its work.'),
  payload_key: textOrNull.about(
    'Id of the key that it encrypts prompts and answers with; null: it does not encrypt them.',
  ),
  payload_keys: s.list(s.text()).about('Ids of the keys that it can decrypt with.'),
});
export type ProcessStatus = s.Infer<typeof processStatus>;

const providerStatus = s.fields({
  name: s.text(),
  kind: s.choice(...KINDS),
  prices: s.text().about('Whose prices it has.'),
  waiting: s.whole(),
  parked: s.whole().about('How many of them wait for a limit per minute.'),
  max_backlog: s.whole(),
  oldest_waiting_ms: s.whole(),
  active: s.whole(),
  concurrency: s.whole().about('How many calls may run at a time now.'),
  /** Null when it is set, or when no worker has come yet. */
  concurrency_change: s
    .orNull(
      s.fields({
        reason: s.choice(...CONCURRENCY_REASONS),
        at: moment,
      }),
    )
    .about(
      'Why and when the found number was changed last. Start: it is new. Demand: no call was refused, and more waited. Refused: the provider said that too many ran at a time. Overloaded: it had no capacity.',
    ),
  found_limits: s
    .list(
      s.fields({
        type: s.choice(...LIMIT_TYPES),
        key: textOrNull.about('The key of the pool that it is for; null for the only one.'),
        model: s.text(),
        limit: s.whole().about('Per minute.'),
        reason: s.choice(...FOUND_REASONS),
        at: moment,
      }),
    )
    .about(
      'Limits per minute that nobody has set and no header tells, as they are found, and why they were changed last. Refused: the provider refused a call. Demand: calls went well, and more waited.',
    ),
  paused: s.flag.about('No worker takes its requests.'),
  circuit: s.fields({ state: s.choice('closed', 'failing', 'open'), until: momentOrNull }),
  /** `model` is null for all models. `service_tier` is null for all tiers. */
  cool_downs: s.list(
    s.fields({
      model: textOrNull,
      service_tier: textOrNull,
      until: moment,
      remaining_ms: s.whole({}),
    }),
  ),
});
export type ProviderStatus = s.Infer<typeof providerStatus>;

export const status = s.component('Status', {
  object: s.literal('status'),
  time: moment,
  processes: s.list(processStatus),
  providers: s.list(providerStatus),
  /** Null for somebody whose role holds in some workspaces only. The list of processes is empty then, too. */
  redis: s.orNull(
    s.fields({
      memory_used_bytes: s.whole(),
      memory_limit_bytes: wholeOrNull,
      request_log_entries: s.whole(),
      product: s.choice('Redis', 'Valkey'),
      version: s.text(),
      warnings: s.list(s.text()).about('How its settings can lose accepted requests.'),
    }),
  ),
  /** Where workers copy the request log to, and how far the copy is behind. Null: nowhere. */
  copies: s.fields({
    postgres: s.orNull(
      s.fields({
        behind_ms: s.whole().about('Age of the oldest entry that is not in PostgreSQL.'),
        spilled_entries: s.whole().about('Entries on the disks of workers.'),
        problem: textOrNull.about('Why this api cannot read PostgreSQL, as a sentence.'),
      }),
    ),
    files: s.orNull(
      s.fields({
        behind_ms: s.whole().about('Age of the oldest entry that is in no file. Up to an hour is normal.'),
      }),
    ),
  }),
  registry: s.fields({ version: s.text(), models: s.whole() }),
});
export type Status = s.Infer<typeof status>;

/** `processes`: how many were asked to read gateway.yaml again. */
export const reload = s.component('Reload', {
  object: s.literal('reload'),
  time: moment,
  processes: s.whole(),
});
export type Reload = s.Infer<typeof reload>;
