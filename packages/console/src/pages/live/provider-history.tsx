import type { AttemptReport } from '@sluice/shared/admin-api';
import { count } from '../../format.js';
import { AttemptCharts } from '../../ui/attempt-charts.js';
import { usePoll } from '../../use-poll.js';

const EVERY_MS = 10_000;

/** How fast each provider was, and how often its calls failed. */
export function ProviderHistory({ range }: { range: string }) {
  const report = usePoll(`attempts ${range}`, EVERY_MS, (client, signal) =>
    client.get<AttemptReport>(`/attempts?by=provider&since=${range}`, signal),
  );
  if (!report.data || report.data.entries.length === 0) return null;
  const { complete, requests } = report.data;
  return (
    <section aria-labelledby="provider-history">
      <h2 id="provider-history">
        Providers over time {!complete && <span class="muted">the newest {count(requests)} requests</span>}
      </h2>
      <AttemptCharts report={report.data} />
    </section>
  );
}
