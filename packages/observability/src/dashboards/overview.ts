import type { DashboardSpec, PanelSpec, Query } from './panels.js';

const OF = 'workspace=~"$workspace",route=~"$route"';
const ENDED = `gateway_requests_total{${OF}}`;
/** Refused requests and callers who left say nothing about how well the gateway works. */
const TRIED = `gateway_requests_total{${OF},outcome=~"ok|failed"}`;
const FAILED = `gateway_requests_total{${OF},outcome="failed"}`;
const failedShare = `sum(rate(${FAILED}[$__rate_interval])) / sum(rate(${TRIED}[$__rate_interval]))`;
const CHAT_SECONDS = 'gateway_http_request_duration_seconds_bucket{path="/v1/chat/completions"}';
const unserved = (kinds: string) =>
  `sum by (reason) (rate(gateway_unserved_requests_total{workspace=~"$workspace",kind=~"${kinds}"}[$__rate_interval])) > 0`;
const quantile = (q: number) =>
  `histogram_quantile(${q}, sum by (le) (rate(${CHAT_SECONDS}[$__rate_interval])))`;

const stat = (title: string, about: string, unit: string, expr: string): PanelSpec => ({
  title,
  about,
  kind: 'stat',
  unit,
  width: 4,
  queries: [{ expr, legend: title }],
});
const series = (title: string, about: string, unit: string, ...queries: Query[]): PanelSpec => ({
  title,
  about,
  kind: 'timeseries',
  unit,
  width: 12,
  queries,
});

export const overviewDashboard: DashboardSpec = {
  uid: 'sluice-overview',
  title: 'Sluice: overview',
  about: 'Is it well, and if not, what fails and for whom? The other dashboards say more about each part.',
  panels: [
    stat(
      'Requests per second',
      'Chat requests that ended.',
      'reqps',
      `sum(rate(${ENDED}[$__rate_interval]))`,
    ),
    {
      ...stat('Failed', 'Of what was neither refused nor left by its caller.', 'percentunit', failedShare),
      runbook: 'HighErrorRatio',
    },
    stat('p95', '19 of 20 requests are faster.', 's', quantile(0.95)),
    {
      ...stat(
        'Waiting',
        'In all queues.',
        'short',
        'sum(max by (provider, state) (gateway_queue_jobs{state!="active"}))',
      ),
      runbook: 'BacklogOld',
    },
    {
      ...stat(
        'Spend today',
        'Since midnight.',
        'currencyUSD',
        'sum(increase(gateway_cost_usd_total{workspace=~"$workspace",route=~"$route"}[$__range]))',
      ),
      timeFrom: 'now/d',
    },
    { ...stat('Workers', 'Processes.', 'short', 'max(gateway_workers)'), runbook: 'NoWorkers' },
    {
      ...series('Traffic', 'Chat requests by how they ended.', 'reqps', {
        expr: `sum by (outcome) (rate(${ENDED}[$__rate_interval]))`,
        legend: '{{outcome}}',
      }),
      stacked: true,
    },
    {
      ...series('Failures by reason', 'What a provider or the gateway could not do.', 'reqps', {
        expr: unserved('failed'),
        legend: '{{reason}}',
      }),
      stacked: true,
      runbook: 'HighErrorRatio',
    },
    {
      ...series(
        'Refusals by reason',
        'Limits, budgets, and mistakes of callers. Nothing has failed.',
        'reqps',
        {
          expr: unserved('policy|caller'),
          legend: '{{reason}}',
        },
      ),
      stacked: true,
      runbook: 'BudgetRefusing',
    },
    series(
      'Duration',
      'Chat completions, as the caller sees them, refusals included.',
      's',
      ...[0.5, 0.95, 0.99].map((q) => ({ expr: quantile(q), legend: `p${q * 100}` })),
    ),
    {
      ...series('Waiting by provider', 'Jobs that wait for their turn.', 'short', {
        expr: 'sum by (provider) (max by (provider, state) (gateway_queue_jobs{state!="active"}))',
        legend: '{{provider}}',
      }),
      runbook: 'BacklogOld',
    },
    {
      ...series('USD per hour by workspace', 'Who spends it.', 'currencyUSD', {
        expr: 'sum by (workspace) (rate(gateway_cost_usd_total{workspace=~"$workspace",route=~"$route"}[$__rate_interval])) * 3600 > 0',
        legend: '{{workspace}}',
      }),
      stacked: true,
      runbook: 'SpendSpike',
    },
    {
      title: 'Who is failing',
      about: 'Failed requests in the time range of the dashboard.',
      kind: 'table',
      unit: 'short',
      width: 12,
      queries: [
        {
          expr: `sort_desc(sum by (workspace, route) (increase(${FAILED}[$__range])) > 0)`,
          legend: '{{workspace}} {{route}}',
        },
      ],
    },
    {
      title: 'Budgets that refuse, since',
      about: 'The budget of these workspaces covers no request any more.',
      kind: 'table',
      unit: 'dateTimeAsIso',
      width: 12,
      queries: [
        {
          expr: 'max by (workspace) (gateway_workspace_refusing_since_seconds{workspace=~"$workspace"}) * 1000',
          legend: '{{workspace}}',
        },
      ],
      runbook: 'BudgetRefusing',
    },
  ],
};
