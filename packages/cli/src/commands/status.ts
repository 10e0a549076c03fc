import type { ConcurrencyReason, FoundReason, ProviderStatus, Status } from '@sluice/shared/admin-api';
import type { Command } from 'commander';
import type { Cli } from '../cli.js';
import { count, duration, fromNow, megabytes, whole } from '../output/format.js';
import type { Style } from '../output/style.js';
import { table } from '../output/table.js';
import { withExamples } from './examples.js';

export function addStatusCommand(program: Command, cli: Cli): void {
  withExamples(
    program
      .command('status')
      .description('Show the processes, the queues, and the providers that are cooling down or failing.'),
    'status',
    'status --json',
  ).action(async () => {
    const status = await cli.admin.get<Status>('/status');
    cli.show(status, () => statusText(status, cli.style));
  });
}

function statusText({ time, processes, providers, redis, copies, registry }: Status, style: Style): string {
  const now = Date.parse(time);
  const workers = processes.filter(({ role }) => role === 'worker').length;
  return [
    table(
      [
        { title: 'PROVIDER', cell: (provider) => provider.name },
        {
          title: 'CALLS',
          right: true,
          cell: ({ active, concurrency }) => `${whole(active)}/${whole(concurrency)}`,
        },
        {
          title: 'WAITING',
          right: true,
          cell: ({ waiting, parked, max_backlog }) =>
            `${whole(waiting)}/${whole(max_backlog)}${parked > 0 ? `, ${whole(parked)} for a limit` : ''}`,
        },
        {
          title: 'OLDEST',
          right: true,
          cell: ({ waiting, oldest_waiting_ms }) => (waiting > 0 ? duration(oldest_waiting_ms) : ''),
        },
        {
          title: 'QUEUE',
          cell: ({ paused }) => (paused ? 'paused' : 'open'),
          paint: ({ paused }) => (paused ? style.bad : undefined),
        },
        {
          title: 'CIRCUIT',
          cell: ({ circuit }) =>
            circuit.until === null
              ? circuit.state
              : `${circuit.state}, tried again ${fromNow(circuit.until, now)}`,
          paint: ({ circuit }) => (circuit.state === 'closed' ? style.good : style.bad),
        },
        {
          title: 'COOLING DOWN',
          cell: (provider) => coolDownText(provider),
          paint: ({ cool_downs }) => (cool_downs.length > 0 ? style.bad : undefined),
        },
      ],
      providers,
      style,
    ),
    '',
    table(
      [
        { title: 'PROCESS', cell: ({ role }) => role },
        { title: 'HOST', cell: ({ host }) => host },
        { title: 'PID', right: true, cell: ({ pid }) => String(pid) },
        {
          title: 'UP',
          right: true,
          cell: ({ started_at }) => duration(Math.max(0, now - Date.parse(started_at))),
        },
        {
          title: 'PAYLOADS',
          cell: ({ payload_key }) => payload_key ?? 'unencrypted',
          paint: ({ payload_key }) => (payload_key === null ? style.bad : undefined),
        },
        { title: 'ID', cell: ({ id }) => id },
      ],
      processes,
      style,
    ),
    '',
    ...providers.flatMap((provider) => foundText(provider, now)),
    ...providers.flatMap((provider) => circuitText(provider, now)),
    ...(redis && workers === 0 ? [style.bad('No worker is running: requests are not answered.')] : []),
    ...(processes.some(({ payload_key }) => payload_key === null)
      ? [
          style.bad(
            'A process has no PAYLOAD_KEY to encrypt with: prompts and answers are stored in Redis unencrypted.',
          ),
        ]
      : []),
    ...(redis?.warnings ?? []).map((warning) => style.bad(warning)),
    ...processes.flatMap(({ role, host, pid, problems }) =>
      problems.map((problem) => style.bad(`${role} ${host} ${pid}: ${problem}`)),
    ),
    ...(redis ? [redisText(redis)] : []),
    ...copiesText(copies, style),
    `Model registry ${registry.version}: ${count(registry.models, 'model')}.`,
  ].join('\n');
}

const CONCURRENCY_CHANGES: Record<ConcurrencyReason, string> = {
  start: 'not tried higher yet',
  demand: 'raised, because no call was refused and more waited',
  refused: 'lowered, because the provider said that too many ran at a time',
  overloaded: 'lowered, because the provider had no capacity',
};
const LIMIT_CHANGES: Record<FoundReason, string> = {
  demand: 'raised, because calls went well and more waited',
  refused: 'set, because the provider refused a call',
};

/** The limits that nobody has set, and why they were changed last. */
function foundText(
  { name, concurrency, concurrency_change: change, found_limits }: ProviderStatus,
  now: number,
): string[] {
  return [
    ...(change
      ? [
          `${name}: ${whole(concurrency)} calls at a time, a limit that the gateway found itself: ${CONCURRENCY_CHANGES[change.reason]}, ${fromNow(change.at, now)}.`,
        ]
      : []),
    ...found_limits.map(({ key, model, type, limit, reason, at }) => {
      const whose = key === null ? model : `${model} with the key ${key}`;
      const what = `${whole(limit)} ${type.replace('_', ' ')} a minute`;
      return `${name}, ${whose}: a limit of ${what}, which the gateway found itself: ${LIMIT_CHANGES[reason]}, ${fromNow(at, now)}.`;
    }),
  ];
}

/** What a circuit that is not closed means. */
function circuitText({ name, circuit }: ProviderStatus, now: number): string[] {
  if (circuit.state === 'failing')
    return [`${name} is failing: its latest calls failed. If this goes on, its circuit opens.`];
  if (circuit.state !== 'open') return [];
  const next = circuit.until === null ? 'now' : fromNow(circuit.until, now);
  return [
    `The circuit of ${name} is open: it kept failing. Only one call at a time tries it, the next ${next}.`,
  ];
}

function coolDownText({ cool_downs }: ProviderStatus): string {
  return cool_downs
    .map(({ model, service_tier, remaining_ms }) => {
      const tier = service_tier === null ? '' : ` (${service_tier})`;
      return `${model ?? 'all models'}${tier} for ${duration(Math.max(0, remaining_ms))}`;
    })
    .join(', ');
}

function redisText(redis: NonNullable<Status['redis']>): string {
  const { product, version, memory_limit_bytes: most } = redis;
  const limit = most === null ? 'no limit' : `of ${megabytes(most)}`;
  const used = megabytes(redis.memory_used_bytes);
  return `${product} ${version}: ${used} used (${limit}), ${count(redis.request_log_entries, 'request')} in the log.`;
}

function copiesText({ postgres, files }: Status['copies'], style: Style): string[] {
  const behind = (ms: number) =>
    ms === 0 ? 'all of the log' : `all of the log but the newest ${duration(ms)}`;
  const spilled = postgres?.spilled_entries ?? 0;
  return [
    ...(postgres ? [`PostgreSQL has ${behind(postgres.behind_ms)}.`] : []),
    ...(postgres?.problem ? [style.bad(`The api cannot read it: ${postgres.problem}`)] : []),
    ...(spilled > 0
      ? [`The disks of workers have ${count(spilled, 'entry', 'entries')} for PostgreSQL.`]
      : []),
    ...(files ? [`The log files have ${behind(files.behind_ms)}.`] : []),
  ];
}
