import type { TrafficReport } from '@sluice/shared/admin-api';
import { useMemo } from 'preact/hooks';
import { counted, duration, short } from '../../format.js';
import { LazyChart } from '../../ui/lazy-chart.js';

const RATE_COLOURS = [1, 4];
const DURATION_COLOURS = [1, 2, 3];

export function TrafficCharts({ traffic }: { traffic: TrafficReport }) {
  const { times, rates, durations } = useMemo(() => toSeries(traffic), [traffic]);
  return (
    <div class="columns">
      <section class="card">
        <h2>Requests per second</h2>
        <LazyChart
          label={`Requests per second over time; ${counted(traffic.requests, 'request')}, ${traffic.failed} of them failed`}
          kind="lines"
          times={times}
          series={rates}
          colours={RATE_COLOURS}
          format={short}
        />
      </section>
      <section class="card">
        <h2>Duration</h2>
        <LazyChart
          label={`Duration of requests over time; median ${duration(traffic.duration_ms.p50)}, p99 ${duration(traffic.duration_ms.p99)}`}
          kind="lines"
          times={times}
          series={durations}
          colours={DURATION_COLOURS}
          format={duration}
        />
      </section>
    </div>
  );
}

function toSeries({ since, bucket_seconds, buckets: all }: TrafficReport) {
  // The last one has only just begun.
  const buckets = all.slice(0, -1);
  const start = Date.parse(since) / 1000;
  return {
    times: buckets.map((_, i) => start + (i + 0.5) * bucket_seconds),
    rates: [
      { label: 'all', values: buckets.map(({ requests }) => requests / bucket_seconds) },
      { label: 'failed', values: buckets.map(({ failed }) => failed / bucket_seconds) },
    ],
    durations: (['p50', 'p95', 'p99'] as const).map((name) => ({
      label: name,
      values: buckets.map(({ duration_ms }) => duration_ms[name]),
    })),
  };
}
