import type { BudgetMonth, PresentedSpend, SpendField, SpendSums, Statement } from '@sluice/shared/admin-api';
import { path } from '../../admin-client.js';
import { count, counted, price, usd } from '../../format.js';
import { changeQuery, formatPlace, type Place } from '../../location.js';
import { download } from '../../ui/download.js';
import { Page } from '../../ui/page.js';
import { Pick } from '../../ui/pick.js';
import { Empty, explainFailure, Notice, Waiting } from '../../ui/small.js';
import { type Column, Table } from '../../ui/table.js';
import { useAction } from '../../ui/use-action.js';
import { usePoll } from '../../use-poll.js';
import { lastMonths, monthOf, timeZones } from './spend-range.js';

const EVERY_MS = 30_000;
const MONTHS = 36;

/** A workspace's month as finance files it: by model, route, key and day, each with the same total. */
export function StatementPage({ workspace, place }: { workspace: string; place: Place }) {
  const month = monthOf(place.query.month);
  const tz = place.query.tz || 'UTC';
  const address = `${path`/workspaces/${workspace}/statement`}?${new URLSearchParams({ month, tz })}`;
  const statement = usePoll(address, EVERY_MS, (client, signal) => client.get<Statement>(address, signal));
  const monthsPath = path`/workspaces/${workspace}/months`;
  const months = usePoll(monthsPath, EVERY_MS, (client, signal) =>
    client.get<{ data: BudgetMonth[] }>(monthsPath, signal),
  );
  const action = useAction();
  const save = () =>
    action.run(async (client) => {
      const response = await client.fetch(`${address}&format=csv`);
      download(`statement-${workspace}-${month}.csv`, await response.blob());
    });
  const set = (name: string) => (value: string) => changeQuery(place, { [name]: value });
  const { data } = statement;
  // Keys and time zones both come from PostgreSQL.
  const hasArchive = data?.parts.some(({ by }) => by.includes('key')) ?? false;

  return (
    <Page
      title={`Statement of ${workspace}, ${month}`}
      intro={data && `Days in ${data.time_zone}. ${summary(data.total)}`}
      actions={
        <>
          <a class="button" href={formatPlace({ page: 'spend' })}>
            All spend
          </a>
          <button type="button" disabled={!data || action.busy} onClick={save}>
            Download CSV
          </button>
          <button type="button" disabled={!data} onClick={() => print()}>
            Print
          </button>
        </>
      }
    >
      <div class="filters">
        <Pick label="Month" value={month} values={lastMonths(MONTHS)} onChange={set('month')} />
        {hasArchive && (
          <Pick label="Time zone" value={tz} values={timeZones(place.query.tz)} onChange={set('tz')} />
        )}
      </div>
      {action.error && <Notice tone="bad">{explainFailure(action.error)}</Notice>}
      {!data && <Waiting polled={statement} />}
      {data?.complete === false && (
        <Notice tone="warn">
          Not everything has arrived in PostgreSQL yet: this statement is not final.
        </Notice>
      )}
      {data && data.total.requests === 0 && data.total.unknown_bills === 0 ? (
        <Empty title="Nothing was spent in this month." />
      ) : (
        data?.parts.map((part) => <Part key={part.title} {...part} total={data.total} />)
      )}
      {months.data && months.data.data.length > 0 && (
        <Months months={months.data.data} workspace={workspace} tz={place.query.tz ?? ''} />
      )}
    </Page>
  );
}

function summary(total: SpendSums): string {
  const billed = `$${total.cost_usd} for ${counted(total.requests, 'request')}.`;
  if (total.unknown_bills === 0) return billed;
  return `${billed} ${counted(total.unknown_bills, 'call')} ended without a bill and may have cost $${total.estimated_usd} more.`;
}

const inputOf = (sums: SpendSums) => sums.input_tokens + sums.cached_input_tokens + sums.cache_write_tokens;

function Part({ title, by, data, total }: Statement['parts'][number] & { total: SpendSums }) {
  const name = (row: PresentedSpend) => by.map((field) => row[field] ?? 'direct model ids').join(' / ');
  const columns: Column<PresentedSpend>[] = [
    { id: 'name', label: labelOf(by), head: true, cell: (row) => <span class="name">{name(row)}</span> },
    { id: 'requests', label: 'Requests', numeric: true, cell: (row) => count(row.requests) },
    { id: 'input', label: 'Input tokens', numeric: true, cell: (row) => count(inputOf(row)) },
    { id: 'output', label: 'Output tokens', numeric: true, cell: (row) => count(row.output_tokens) },
    { id: 'cost', label: 'USD', numeric: true, cell: (row) => row.cost_usd },
  ];
  const footer = (
    <tr>
      <th scope="row">Total</th>
      <td class="number" data-label="Requests">
        {count(total.requests)}
      </td>
      <td class="number" data-label="Input tokens">
        {count(inputOf(total))}
      </td>
      <td class="number" data-label="Output tokens">
        {count(total.output_tokens)}
      </td>
      <td class="number" data-label="USD">
        {total.cost_usd}
      </td>
    </tr>
  );
  const id = title.toLowerCase().replaceAll(' ', '-');
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <Table caption={title} columns={columns} rows={data} rowKey={name} footer={footer} isWhole />
    </section>
  );
}

function labelOf(by: readonly SpendField[]): string {
  const text = by.join(' / ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What each month had and spent. */
function Months({ months, workspace, tz }: { months: BudgetMonth[]; workspace: string; tz: string }) {
  const columns: Column<BudgetMonth>[] = [
    {
      id: 'month',
      label: 'Month',
      head: true,
      cell: ({ month }) => (
        <a href={formatPlace({ page: 'spend', item: workspace, query: { month, tz } })}>{month}</a>
      ),
    },
    {
      id: 'budget',
      label: 'Budget',
      numeric: true,
      cell: ({ budget_usd }) => (budget_usd === null ? 'none' : price(budget_usd)),
    },
    { id: 'spent', label: 'Spent', numeric: true, cell: ({ spent_usd }) => usd(spent_usd) },
    {
      id: 'estimated',
      label: 'Estimated',
      numeric: true,
      cell: ({ estimated_usd }) => (Number(estimated_usd) === 0 ? '' : usd(estimated_usd)),
    },
  ];
  return (
    <section aria-labelledby="months" class="not-printed">
      <h2 id="months">
        Months <span class="muted">in UTC, with the budget and the spend of each</span>
      </h2>
      <Table caption="Months" columns={columns} rows={months} rowKey={({ month }) => month} />
    </section>
  );
}
