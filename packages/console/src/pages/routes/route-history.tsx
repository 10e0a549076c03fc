import type { AttemptReport } from '@sluice/shared/admin-api';
import { useMemo } from 'preact/hooks';
import { count, counted, duration, percent } from '../../format.js';
import { outcomeText } from '../../outcomes.js';
import { AttemptCharts } from '../../ui/attempt-charts.js';
import { Empty, Waiting } from '../../ui/small.js';
import { usePoll } from '../../use-poll.js';

const EVERY_MS = 10_000;

/** How fast each entry of a route was in the last hour, how often it failed, and why it was passed over. */
export function RouteHistory({ workspace, route }: { workspace: string; route: string }) {
  const query = useMemo(
    () => new URLSearchParams({ since: '1h', workspace, route }).toString(),
    [workspace, route],
  );
  const report = usePoll(query, EVERY_MS, (client, signal) =>
    client.get<AttemptReport>(`/attempts?${query}`, signal),
  );
  if (!report.data) return <Waiting polled={report} />;
  const { entries, requests, complete } = report.data;
  if (entries.length === 0) return <Empty title="No call in the last hour." />;
  return (
    <div class="stack">
      <AttemptCharts report={report.data} />
      <ul class="plain stack">
        {entries.map((entry) => (
          <li key={`${entry.provider}/${entry.model}`}>
            <b class="wrap">
              {entry.provider}/{entry.model}
            </b>{' '}
            {counted(entry.calls, 'call')}, {percent(entry.failed, entry.calls)} failed, p95{' '}
            {duration(entry.duration_ms.p95)}
            {entry.passed_over > 0 && `, passed over ${count(entry.passed_over)} times`}
            <span class="under">
              {entry.outcomes
                .filter(({ outcome }) => outcome !== 'ok')
                .map(({ outcome, attempts }) => `${count(attempts)} × ${outcomeText(outcome)}`)
                .join('; ')}
            </span>
          </li>
        ))}
      </ul>
      {!complete && <p class="hint">Only the newest {count(requests)} requests of the hour are counted.</p>}
    </div>
  );
}
