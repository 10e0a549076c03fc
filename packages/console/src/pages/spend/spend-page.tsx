import type { BudgetList, Spend } from '@sluice/shared/admin-api';
import { useMemo } from 'preact/hooks';
import { counted, usd, usdShort } from '../../format.js';
import { changeQuery, type Place } from '../../location.js';
import { download, toCsv } from '../../ui/download.js';
import { LazyChart } from '../../ui/lazy-chart.js';
import { Page } from '../../ui/page.js';
import { Choice, Empty, explainFailure, Notice, Waiting } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { usePoll } from '../../use-poll.js';
import { Budgets } from './budgets.js';
import { GROUPS, groupRows, toCsvRows, toDaySeries, withOthers } from './spend-sums.js';
import { SpendTable } from './spend-table.js';

const EVERY_MS = 10_000;
/** How many groups have a row of their own; the others share one. */
const MAX_GROUPS = 100;
const DAYS = [
  ['1', 'Today'],
  ['7', '7 days'],
  ['30', '30 days'],
] as const;

export function SpendPage({ place }: { place: Place }) {
  const days = DAYS.find(([each]) => each === place.query.days)?.[0] ?? '7';
  const by = GROUPS.find(([each]) => each === place.query.by)?.[0] ?? 'workspace';
  const since = `${Number(days) - 1}d`;
  const query = `since=${since}&by=${by === 'route' ? 'workspace,route' : by},day`;
  const spend = usePoll(query, EVERY_MS, (client, signal) =>
    client.get<Spend>(`/spend?${query}&top=${MAX_GROUPS}`, signal),
  );
  const budgets = usePoll('budgets', EVERY_MS, (client, signal) =>
    client.get<BudgetList>('/budgets', signal),
  );
  const series = useMemo(() => spend.data && toDaySeries(spend.data, by), [spend.data, by]);
  const rows = spend.data ? withOthers(groupRows(spend.data.data, by), spend.data) : [];
  const action = useAction();
  const save = () =>
    action.run(async (client) => {
      const { data } = await client.get<Spend>(`/spend?${query}`);
      download(`spend-by-${by}.csv`, toCsv(toCsvRows(data, by)));
    });
  const set = (name: string) => (value: string) => changeQuery(place, { [name]: value });

  return (
    <Page
      title="Spend"
      intro={
        spend.data
          ? `${spend.data.from} to ${spend.data.to}, days of UTC, from the ledger.`
          : 'From the ledger.'
      }
      actions={
        <>
          <Choice label="Time range" value={days} choices={DAYS} onChange={set('days')} />
          <Choice label="Summed by" value={by} choices={GROUPS} onChange={set('by')} />
          <button type="button" disabled={rows.length === 0 || action.busy} onClick={save}>
            {action.busy ? 'Exporting …' : 'Download CSV'}
          </button>
        </>
      }
    >
      {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
      {!spend.data && <Waiting polled={spend} />}
      {spend.data && rows.length === 0 && <Empty title="Nothing was spent in these days." />}
      {spend.data && series && rows.length > 0 && (
        <>
          <section class="card" aria-labelledby="by-day">
            <h2 id="by-day">
              {usd(spend.data.total.cost_usd)}{' '}
              <span class="muted">for {counted(spend.data.total.requests, 'request')}</span>
            </h2>
            <LazyChart
              label={`Spend by day and ${by}; the table below has the sums`}
              kind="bars"
              times={series.times}
              series={series.series}
              colours={series.colours}
              format={usdShort}
              height={210}
            />
          </section>
          <SpendTable rows={rows} total={spend.data.total} by={by} />
        </>
      )}
      {budgets.data ? <Budgets budgets={budgets.data} /> : <Waiting polled={budgets} />}
    </Page>
  );
}
