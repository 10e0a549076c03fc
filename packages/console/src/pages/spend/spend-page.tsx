import type { BudgetList, SavingList, Spend } from '@sluice/shared/admin-api';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { counted, usd, usdShort } from '../../format.js';
import { changeQuery, formatPlace, type Place } from '../../location.js';
import { download } from '../../ui/download.js';
import { LazyChart } from '../../ui/lazy-chart.js';
import { Page } from '../../ui/page.js';
import { Choice, Empty, explainFailure, Notice, Waiting } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { usePoll } from '../../use-poll.js';
import { Budgets } from './budgets.js';
import { RangeFields } from './range-fields.js';
import { Savings } from './savings.js';
import { PERIODS, readRange } from './spend-range.js';
import { fieldsOf, GROUPS, type GroupRow, groupRows, sumOthers, toSeries } from './spend-sums.js';
import { SpendTable } from './spend-table.js';
import { StatementPage } from './statement-page.js';

const EVERY_MS = 10_000;
/** The files that the page saves. FOCUS has groups and days of its own, see docs/archive.md. */
const FORMATS = [
  { format: 'csv', text: 'Download CSV', extension: 'csv' },
  { format: 'jsonl', text: 'JSON lines', extension: 'jsonl' },
  { format: 'focus', text: 'FOCUS', extension: 'csv' },
] as const;
type Format = (typeof FORMATS)[number];
/** How many groups have a row of their own; the others share one. */
const MAX_GROUPS = 100;

/** `#/spend` is the spend of all workspaces, `#/spend/<workspace>` the statement of one. */
export function SpendPage({ place }: { place: Place }) {
  return place.item === undefined ? (
    <SpendOfAll place={place} />
  ) : (
    <StatementPage workspace={place.item} place={place} />
  );
}

function SpendOfAll({ place }: { place: Place }) {
  const range = readRange(place);
  const by = GROUPS.find(([each]) => each === place.query.by)?.[0] ?? 'workspace';
  const { tag = '', tz = '' } = place.query;
  const grouping = { by, tag };
  const needsTag = by === 'tag' && tag === '';
  const period = by === 'month' ? 'month' : range.period;
  const query = new URLSearchParams({
    ...range.query,
    ...(tz === '' ? {} : { tz }),
    by: [...new Set([period, ...fieldsOf(grouping)])].join(','),
  }).toString();
  const spend = usePoll(query, EVERY_MS, (client, signal) =>
    client.get<Spend>(`/spend?${query}&top=${MAX_GROUPS}`, signal),
  );
  const [hasArchive, setHasArchive] = useState(false);
  useEffect(() => {
    if (spend.data) setHasArchive(spend.data.archive);
  }, [spend.data]);
  const budgets = usePoll('budgets', EVERY_MS, (client, signal) =>
    client.get<BudgetList>('/budgets', signal),
  );
  const savings = usePoll('savings', EVERY_MS, (client, signal) =>
    client.get<SavingList>('/savings', signal),
  );
  const series = useMemo(
    () => spend.data && toSeries(spend.data, { by, tag }, period),
    [spend.data, by, tag, period],
  );
  const rows = spend.data ? groupRows(spend.data.data, grouping) : [];
  const action = useAction();
  const save = ({ format, extension }: Format) =>
    action.run(async (client) => {
      const asked = format === 'focus' ? new URLSearchParams(range.query).toString() : query;
      const response = await client.fetch(`/spend?${asked}&format=${format}`);
      const name = format === 'focus' ? 'focus' : `spend-by-${by === 'tag' ? tag : by}`;
      download(`${name}.${extension}`, await response.blob());
    });
  const isWorkspace = ({ name }: GroupRow) =>
    by === 'workspace' && spend.data?.data.some((row) => row.workspace === name);
  const statementOf = (row: GroupRow) =>
    isWorkspace(row)
      ? formatPlace({ page: 'spend', item: row.name, query: { month: range.query.month ?? '', tz } })
      : undefined;

  return (
    <Page
      title="Spend"
      intro={
        spend.data ? `${spend.data.from} to ${spend.data.to}, days in ${spend.data.time_zone}.` : undefined
      }
      actions={
        <>
          <Choice
            label="Time range"
            value={range.chosen}
            choices={PERIODS}
            onChange={(days) => changeQuery(place, { days })}
          />
          {FORMATS.map((each) => (
            <button
              key={each.format}
              type="button"
              disabled={rows.length === 0 || action.busy}
              onClick={() => save(each)}
            >
              {each.text}
            </button>
          ))}
        </>
      }
    >
      <RangeFields place={place} range={range} by={by} hasArchive={hasArchive} />
      {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
      {needsTag && <Empty title="Which tag?">Callers send tags in the header x-gateway-tags.</Empty>}
      {!spend.data && <Waiting polled={spend} />}
      {spend.data?.complete === false && (
        <Notice tone="warn">Not everything has arrived in PostgreSQL yet: these sums will still grow.</Notice>
      )}
      {spend.data && rows.length === 0 && <Empty title="Nothing was spent in these days." />}
      {spend.data && series && rows.length > 0 && !needsTag && (
        <>
          <section class="card" aria-labelledby="by-period">
            <h2 id="by-period">
              {usd(spend.data.total.cost_usd)}{' '}
              <span class="muted">for {counted(spend.data.total.requests, 'request')}</span>
            </h2>
            {spend.data.adjustments.length > 0 && (
              <p>
                <a href={formatPlace({ page: 'invoices' })}>Invoices</a> have settled{' '}
                {usd(spend.data.total.adjusted_usd)} beyond that.
              </p>
            )}
            <LazyChart
              label={
                by === period
                  ? `Spend by ${period}; the table below has the sums`
                  : `Spend by ${period} and ${by}; the table below has the sums`
              }
              kind="bars"
              times={series.times}
              series={series.series}
              colours={series.colours}
              format={usdShort}
              height={210}
            />
          </section>
          <SpendTable
            rows={rows}
            others={sumOthers(spend.data)}
            groups={spend.data.groups}
            total={spend.data.total}
            by={by}
            statementOf={statementOf}
          />
        </>
      )}
      {savings.data && <Savings savings={savings.data} />}
      {budgets.data ? <Budgets budgets={budgets.data} /> : <Waiting polled={budgets} />}
    </Page>
  );
}
