import type { Status, TrafficReport } from '@sluice/shared/admin-api';
import { bytes, count, counted, duration, percent, rate, seconds, timeOfDay } from '../../format.js';
import { changeQuery, formatPlace, type Place } from '../../location.js';
import { Page } from '../../ui/page.js';
import { Choice, Empty, Notice, Waiting } from '../../ui/small.js';
import { usePoll } from '../../use-poll.js';
import { LiveRoutes } from './live-routes.js';
import { Processes } from './processes.js';
import { ProviderHistory } from './provider-history.js';
import { Providers } from './providers.js';
import { Refusals } from './refusals.js';
import { TrafficCharts } from './traffic-charts.js';

const RANGES = [
  ['5m', '5 min'],
  ['15m', '15 min'],
  ['1h', '1 hour'],
  ['24h', '24 hours'],
] as const;
type Range = (typeof RANGES)[number][0];

const EVERY_MS = 2_000;

export function LivePage({ place }: { place: Place }) {
  const range = RANGES.find(([each]) => each === place.query.range)?.[0] ?? '15m';
  const status = usePoll('status', EVERY_MS, (client, signal) => client.get<Status>('/status', signal));
  const traffic = usePoll(`traffic ${range}`, EVERY_MS, (client, signal) =>
    client.get<TrafficReport>(`/traffic?since=${range}`, signal),
  );
  const select = (next: Range) => changeQuery(place, { range: next });
  return (
    <Page
      title="Live"
      intro={status.data ? `As of ${timeOfDay(status.data.time)}; updates by itself.` : 'Updates by itself.'}
      actions={<Choice label="Time range" value={range} choices={RANGES} onChange={select} />}
    >
      {traffic.data ? <Figures traffic={traffic.data} /> : <Waiting polled={traffic} />}
      {traffic.data && <TrafficCharts traffic={traffic.data} />}
      <Refusals range={range} />
      {traffic.data && <LiveRoutes routes={traffic.data.routes} />}
      {status.data ? (
        <>
          <Providers providers={status.data.providers} />
          <ProviderHistory range={range} />
          {status.data.redis && (
            <>
              <Processes status={status.data} />
              <Warnings
                copies={status.data.copies}
                processes={status.data.processes}
                redis={status.data.redis}
              />
              <Small redis={status.data.redis} copies={status.data.copies} registry={status.data.registry} />
            </>
          )}
        </>
      ) : (
        <Waiting polled={status} />
      )}
    </Page>
  );
}

type RedisStatus = NonNullable<Status['redis']>;

function Small({ redis, copies, registry }: Pick<Status, 'copies' | 'registry'> & { redis: RedisStatus }) {
  const { postgres, files } = copies;
  return (
    <p class="muted small-print">
      Redis uses {bytes(redis.memory_used_bytes)}
      {redis.memory_limit_bytes === null ? '' : ` of ${bytes(redis.memory_limit_bytes)}`}; the request log has{' '}
      {counted(redis.request_log_entries, 'entry', 'entries')}
      {postgres && `; PostgreSQL has ${behind(postgres.behind_ms)} of it`}
      {files && `; the log files have ${behind(files.behind_ms)} of it`}; model registry {registry.version}{' '}
      with {counted(registry.models, 'model')}. <a href="/queues">The queues as BullMQ sees them</a>
    </p>
  );
}

function behind(ms: number): string {
  return ms === 0 ? 'all' : `all but the newest ${seconds(ms)}`;
}

/** Problems that an operator should mend, although requests may still be answered. */
function Warnings({
  processes,
  redis,
  copies,
}: Pick<Status, 'processes' | 'copies'> & { redis: RedisStatus }) {
  const warnings = [
    ...redis.warnings,
    ...(copies.postgres?.problem ? [`Older requests may be missing. ${copies.postgres.problem}`] : []),
    ...processes.flatMap(({ role, host, pid, problems }) =>
      problems.map((problem) => `${role} ${host} ${pid}: ${problem}`),
    ),
  ];
  return (
    <>
      {warnings.map((warning) => (
        <Notice key={warning} tone="bad">
          {warning}
        </Notice>
      ))}
    </>
  );
}

function Figures({ traffic }: { traffic: TrafficReport }) {
  const { requests, failed, refused, fallbacks, duration_ms, reasons } = traffic;
  if (requests === 0)
    return (
      <Empty title="No request in this time.">
        As soon as one is answered it is counted here. <a href="#/playground">Send one from the playground</a>
      </Empty>
    );
  return (
    <section aria-label="Figures">
      <dl class="tiles">
        <Tile
          name="Requests per second"
          value={rate(currentRate(traffic))}
          note={`${count(requests)} in all`}
        />
        <Tile name="Median" value={duration(duration_ms.p50)} note="half are faster" />
        <Tile name="p95" value={duration(duration_ms.p95)} note="19 of 20 are faster" />
        <Tile name="p99" value={duration(duration_ms.p99)} note="99 of 100 are faster" />
        <Tile
          name="Failed"
          value={percent(failed, requests)}
          note={counted(failed, 'request')}
          bad={failed / requests > 0.01}
        />
        <Tile
          name="Refused"
          value={percent(refused, requests)}
          note="by limits, budgets, or for mistakes of callers"
        />
        <Tile name="By fallback" value={percent(fallbacks, requests)} note={counted(fallbacks, 'request')} />
      </dl>
      {reasons.length > 0 && (
        <p class="codes">
          <span class="muted">Not served</span>
          {reasons.slice(0, 8).map(({ reason, text, kind, requests }) => (
            <a
              key={reason}
              class={`badge ${kind === 'failed' ? 'bad' : 'warn'}`}
              title={text}
              href={formatPlace({ page: 'requests', query: { reason } })}
            >
              {reason} {count(requests)}
            </a>
          ))}
        </p>
      )}
    </section>
  );
}

/** Over the last complete twelfth of the range. */
function currentRate({ buckets, bucket_seconds }: TrafficReport): number {
  const lately = buckets.slice(-6, -1);
  return lately.reduce((sum, { requests }) => sum + requests, 0) / (lately.length * bucket_seconds);
}

function Tile({
  name,
  value,
  note,
  bad = false,
}: {
  name: string;
  value: string;
  note: string;
  bad?: boolean;
}) {
  return (
    <div class={`tile ${bad ? 'bad' : ''}`}>
      <dt>{name}</dt>
      <dd>
        <span class="big">{value}</span>
        <span class="muted">{note}</span>
      </dd>
    </div>
  );
}
