import type { Status, TrafficReport } from '@sluice/shared/admin-api';
import { isRefusal } from '@sluice/shared/reasons';
import { bytes, count, counted, duration, moment, percent, rate, seconds, timeOfDay } from '../../format.js';
import { changeQuery, formatPlace, type Place } from '../../location.js';
import { Between, lastHour, readBetween, type TimeBetween } from '../../ui/between.js';
import { Page } from '../../ui/page.js';
import { Badge, Choice, Empty, Notice, Waiting } from '../../ui/small.js';
import { usePoll } from '../../use-poll.js';
import { LiveRoutes } from './live-routes.js';
import { Processes } from './processes.js';
import { ProviderHistory } from './provider-history.js';
import { Providers } from './providers.js';
import { Refusals } from './refusals.js';
import { TrafficCharts } from './traffic-charts.js';

const BETWEEN = 'between';
const RANGES = [
  ['5m', '5 min'],
  ['15m', '15 min'],
  ['1h', '1 hour'],
  ['24h', '24 hours'],
  [BETWEEN, 'Between'],
] as const;
type Range = (typeof RANGES)[number][0];

const EVERY_MS = 2_000;
/** The api sums up no longer time. */
const DAY_MS = 86_400_000;

export function LivePage({ place }: { place: Place }) {
  const range = RANGES.find(([each]) => each === place.query.range)?.[0] ?? '15m';
  const between = range === BETWEEN ? (readBetween(place.query) ?? lastHour()) : undefined;
  const isOver = between !== undefined && Date.parse(between.until) < Date.now();
  const time = new URLSearchParams(between ? { ...between } : { since: range }).toString();
  const status = usePoll('status', EVERY_MS, (client, signal) => client.get<Status>('/status', signal));
  const traffic = usePoll(`traffic ${time}`, isOver ? 0 : EVERY_MS, (client, signal) =>
    client.get<TrafficReport>(`/traffic?${time}`, signal),
  );
  const select = (next: Range) =>
    changeQuery(place, {
      range: next,
      ...(next === BETWEEN ? lastHour() : { since: '', until: '' }),
    });
  return (
    <Page
      title="Live"
      intro={introOf(between, status.data)}
      actions={<Choice label="Time range" value={range} choices={RANGES} onChange={select} />}
    >
      {between && (
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <Between between={between} mostMs={DAY_MS} onChange={(next) => changeQuery(place, { ...next })} />
        </form>
      )}
      {traffic.data ? <Figures traffic={traffic.data} isNow={!isOver} /> : <Waiting polled={traffic} />}
      {traffic.data && traffic.data.requests > 0 && <TrafficCharts traffic={traffic.data} />}
      <Refusals time={time} />
      {traffic.data && <LiveRoutes routes={traffic.data.routes} />}
      <ProviderHistory time={time} />
      {/* What follows is the state of now, and says nothing about a time that is over. */}
      {!isOver && (status.data ? <Now status={status.data} /> : <Waiting polled={status} />)}
    </Page>
  );
}

function introOf(between: TimeBetween | undefined, status: Status | undefined): string {
  if (between) return `From ${moment(between.since)} to ${moment(between.until)}.`;
  return status ? `As of ${timeOfDay(status.time)}; updates by itself.` : 'Updates by itself.';
}

function Now({ status }: { status: Status }) {
  const { providers, redis, copies, processes, registry } = status;
  return (
    <>
      <Providers providers={providers} />
      {redis && (
        <>
          <Processes status={status} />
          <Warnings copies={copies} processes={processes} redis={redis} />
          <Small redis={redis} copies={copies} registry={registry} />
        </>
      )}
    </>
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

function Figures({ traffic, isNow }: { traffic: TrafficReport; isNow: boolean }) {
  const { requests, failed, refused, fallbacks, duration_ms } = traffic;
  // Refusals have a table of their own.
  const unserved = traffic.reasons.filter(({ reason }) => !isRefusal(reason));
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
          name="Requests"
          value={count(requests)}
          note={isNow ? `now ${rate(currentRate(traffic))} a second` : `${rate(meanRate(traffic))} a second`}
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
          note="by limits or budgets, or for callers’ mistakes"
        />
        <Tile name="By fallback" value={percent(fallbacks, requests)} note={counted(fallbacks, 'request')} />
      </dl>
      {unserved.length > 0 && (
        <ul class="plain unserved" aria-label="Why requests were not served">
          {unserved.slice(0, 8).map(({ reason, text, kind, requests }) => (
            <li key={reason}>
              <Badge tone={kind === 'failed' ? 'bad' : 'quiet'}>{count(requests)}</Badge>
              <a href={formatPlace({ page: 'requests', query: { reason } })}>{text}</a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function meanRate({ requests, buckets, bucket_seconds }: TrafficReport): number {
  return requests / (buckets.length * bucket_seconds);
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
