import type { AttemptReport } from '@sluice/shared/admin-api';
import { useMemo } from 'preact/hooks';
import { duration } from '../format.js';
import { LazyChart } from './lazy-chart.js';

/** More lines than these cannot be told apart. */
const MAX_LINES = 7;

/** The duration and the share of failures of each entry or provider, over time. */
export function AttemptCharts({ report }: { report: AttemptReport }) {
  const { times, durations, failures } = useMemo(() => toSeries(report), [report]);
  return (
    <div class="columns">
      <section class="card">
        <h3>p95 of the calls that were answered</h3>
        <LazyChart
          label="p95 duration of calls over time"
          kind="lines"
          times={times}
          series={durations}
          format={duration}
        />
      </section>
      <section class="card">
        <h3>Calls that failed</h3>
        <LazyChart
          label="Share of calls that failed, over time"
          kind="lines"
          times={times}
          series={failures}
          format={share}
        />
      </section>
    </div>
  );
}

function share(value: number): string {
  return `${Math.round(100 * value)}%`;
}

function toSeries({ since, bucket_seconds, entries }: AttemptReport) {
  const start = Date.parse(since) / 1000;
  const shown = entries.slice(0, MAX_LINES).map(({ provider, model, buckets }) => ({
    label: model === null ? provider : `${provider}/${model}`,
    buckets,
  }));
  return {
    times: (entries[0]?.buckets ?? []).map((_, i) => start + (i + 0.5) * bucket_seconds),
    durations: shown.map(({ label, buckets }) => ({ label, values: buckets.map(({ p95 }) => p95) })),
    failures: shown.map(({ label, buckets }) => ({
      label,
      values: buckets.map(({ calls, failed }) => (calls === 0 ? null : failed / calls)),
    })),
  };
}
