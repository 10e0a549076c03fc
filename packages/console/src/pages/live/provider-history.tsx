import type { AttemptReport } from '@sluice/shared/admin-api';
import { count } from '../../format.js';
import { AttemptCharts } from '../../ui/attempt-charts.js';
import { Waiting } from '../../ui/small.js';
import { usePoll } from '../../use-poll.js';

const EVERY_MS = 10_000;

/** How fast each provider was, and how often its calls failed. */
export function ProviderHistory({ time }: { time: string }) {
  const report = usePoll(`attempts ${time}`, EVERY_MS, (client, signal) =>
    client.get<AttemptReport>(`/attempts?by=provider&${time}`, signal),
  );
  const { data } = report;
  if (data?.entries.length === 0) return null;
  return (
    <section aria-labelledby="provider-history">
      <h2 id="provider-history">
        Providers over time{' '}
        {data?.complete === false && <span class="muted">the newest {count(data.requests)} requests</span>}
      </h2>
      {data ? <AttemptCharts report={data} /> : <Waiting polled={report} />}
    </section>
  );
}
