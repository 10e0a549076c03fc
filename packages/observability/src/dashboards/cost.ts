import type { DashboardSpec } from './panels.js';

const COST = 'gateway_cost_usd_total{workspace=~"$workspace",route=~"$route"}';
const perHour = (labels: string) => `sum by (${labels}) (rate(${COST}[$__rate_interval])) * 3600`;
const MONTH = 'sum(max by (workspace) (gateway_workspace_month_cost_usd{workspace=~"$workspace"}))';

export const costDashboard: DashboardSpec = {
  uid: 'sluice-cost',
  title: 'Sluice: cost',
  about:
    'What is spent, by whom, through which route, on which model. By counters, except where it says ledger.',
  panels: [
    {
      title: 'Spend today',
      about: 'Since midnight.',
      kind: 'stat',
      unit: 'currencyUSD',
      width: 5,
      timeFrom: 'now/d',
      queries: [{ expr: `sum(increase(${COST}[$__range]))`, legend: 'today' }],
    },
    {
      title: 'Spend in range',
      about: 'In the time range of the dashboard.',
      kind: 'stat',
      unit: 'currencyUSD',
      width: 5,
      queries: [{ expr: `sum(increase(${COST}[$__range]))`, legend: 'range' }],
    },
    {
      title: 'Spend this month (ledger)',
      about: 'The calendar month, UTC, by the ledger in Redis.',
      kind: 'stat',
      unit: 'currencyUSD',
      width: 5,
      queries: [{ expr: MONTH, legend: 'month' }],
    },
    {
      title: 'Projected month',
      about: 'The month’s spend so far, drawn out to the month’s end.',
      kind: 'stat',
      unit: 'currencyUSD',
      width: 5,
      queries: [
        {
          expr: `${MONTH} / (day_of_month() - 1 + (hour() + 1) / 24) * days_in_month()`,
          legend: 'projected',
        },
      ],
    },
    {
      title: 'Doubtful bills',
      about:
        'Unpriced: served by models without a known price, so they count as 0 USD here. Beyond their limit: the provider billed more output than the call allowed. Told otherwise: the provider reports another cost than the list has, or one that cannot be true.',
      kind: 'stat',
      unit: 'short',
      width: 4,
      queries: [
        { expr: 'sum(increase(gateway_unpriced_requests_total[$__range]))', legend: 'unpriced' },
        { expr: 'sum(increase(gateway_usage_beyond_limit_total[$__range]))', legend: 'beyond their limit' },
        {
          expr: 'sum(increase(gateway_reported_costs_total{result=~"differs|refused"}[$__range]))',
          legend: 'told otherwise',
        },
      ],
    },
    {
      title: 'USD per hour by model',
      about: 'Which models the money goes to.',
      kind: 'timeseries',
      unit: 'currencyUSD',
      width: 12,
      stacked: true,
      queries: [{ expr: `${perHour('provider, model')} > 0`, legend: '{{provider}}/{{model}}' }],
    },
    {
      title: 'USD per hour by route',
      about: '(direct) are requests by model id.',
      kind: 'timeseries',
      unit: 'currencyUSD',
      width: 12,
      stacked: true,
      queries: [{ expr: `${perHour('route')} > 0`, legend: '{{route}}' }],
    },
    {
      title: 'USD per hour by workspace',
      about: 'Who spends it.',
      kind: 'timeseries',
      unit: 'currencyUSD',
      width: 12,
      stacked: true,
      queries: [{ expr: `${perHour('workspace')} > 0`, legend: '{{workspace}}' }],
    },
    {
      title: 'USD per hour by tag',
      about: 'Of the tags that request_log.metric_tags names.',
      kind: 'timeseries',
      unit: 'currencyUSD',
      width: 12,
      stacked: true,
      queries: [
        {
          expr: 'sum by (tag, value) (rate(gateway_tag_cost_usd_total{workspace=~"$workspace"}[$__rate_interval])) * 3600 > 0',
          legend: '{{tag}}={{value}}',
        },
      ],
    },
    {
      title: 'Ledger against counter',
      about: 'The ledger is the truth. The counter is short of it where a worker died between two scrapes.',
      kind: 'timeseries',
      unit: 'currencyUSD',
      width: 12,
      queries: [
        {
          expr: 'sum(max by (workspace) (rate(gateway_ledger_cost_usd_total{workspace=~"$workspace"}[$__rate_interval]))) * 3600',
          legend: 'ledger, USD/h',
        },
        { expr: `sum(rate(${COST}[$__rate_interval])) * 3600`, legend: 'counter, USD/h' },
      ],
    },
    {
      title: 'USD per 1,000 tokens by model',
      about: 'Mean over all kinds of tokens.',
      kind: 'timeseries',
      unit: 'currencyUSD',
      width: 12,
      queries: [
        {
          expr: '1000 * sum by (model) (rate(gateway_cost_usd_total[$__rate_interval])) / (sum by (model) (rate(gateway_tokens_total[$__rate_interval])) > 0)',
          legend: '{{model}}',
        },
      ],
    },
    {
      title: 'Tokens per second',
      about: 'The types are disjoint: their sum is all tokens.',
      kind: 'timeseries',
      unit: 'short',
      width: 12,
      stacked: true,
      queries: [{ expr: 'sum by (type) (rate(gateway_tokens_total[$__rate_interval]))', legend: '{{type}}' }],
    },
    {
      title: 'Prompts from the cache',
      about: 'The cached part of all prompts, and of requests that are kept together how many found a cache.',
      kind: 'timeseries',
      unit: 'percentunit',
      width: 12,
      queries: [
        {
          expr: 'sum by (model) (rate(gateway_tokens_total{type="cached_input"}[$__rate_interval])) / (sum by (model) (rate(gateway_tokens_total{type!="output"}[$__rate_interval])) > 0)',
          legend: '{{model}}, tokens',
        },
        {
          expr: 'sum by (model) (rate(gateway_warm_prefix_requests_total{result="hit"}[$__rate_interval])) / (sum by (model) (rate(gateway_warm_prefix_requests_total[$__rate_interval])) > 0)',
          legend: '{{model}}, kept together',
        },
      ],
    },
    {
      title: 'Calls whose bill nobody knows',
      about:
        'They were sent and no whole answer came, or it named no usage or price. What they may have cost.',
      kind: 'timeseries',
      unit: 'currencyUSD',
      width: 12,
      queries: [
        {
          expr: 'sum by (provider, model) (rate(gateway_estimated_cost_usd_total{workspace=~"$workspace"}[$__rate_interval])) * 3600 > 0',
          legend: '{{provider}}/{{model}}, USD/h',
        },
        {
          expr: 'sum(rate(gateway_unknown_bills_total[$__rate_interval])) * 3600',
          legend: 'calls per hour',
        },
      ],
    },
    {
      title: 'Budget used',
      about: 'Of workspaces that have a monthly budget. Estimates of calls whose bill nobody knows count.',
      kind: 'timeseries',
      unit: 'percentunit',
      width: 12,
      queries: [
        {
          expr: '(max by (workspace) (gateway_workspace_month_cost_usd{workspace=~"$workspace"}) + max by (workspace) (gateway_workspace_month_estimated_usd)) / max by (workspace) (gateway_workspace_budget_usd)',
          legend: '{{workspace}}',
        },
      ],
    },
    {
      title: 'Budgets for keys, end users, tags and runs',
      about: 'How much the value that has used the most of each budget has used.',
      kind: 'timeseries',
      unit: 'percentunit',
      width: 12,
      queries: [
        {
          expr: 'max by (workspace, scope, tag, window, route) (gateway_budget_used_ratio{workspace=~"$workspace"})',
          legend: '{{workspace}} {{scope}} {{tag}} {{window}} {{route}}',
        },
      ],
    },
    {
      title: 'Saved by requests with a deadline',
      about: 'Against the standard tier at the time when they came.',
      kind: 'timeseries',
      unit: 'currencyUSD',
      width: 12,
      queries: [
        {
          expr: 'sum by (workspace) (rate(gateway_saved_usd_total{workspace=~"$workspace"}[$__rate_interval])) * 3600',
          legend: '{{workspace}}, USD/h',
        },
      ],
    },
    {
      title: 'Requests with a deadline',
      about: 'How they went, whether in time, and how often they were put off.',
      kind: 'timeseries',
      unit: 'short',
      width: 12,
      queries: [
        {
          expr: 'sum by (via, result) (rate(gateway_deadline_requests_total[$__rate_interval])) * 3600',
          legend: '{{via}} {{result}}, per hour',
        },
        {
          expr: 'sum by (provider, tier) (rate(gateway_deadline_put_off_total[$__rate_interval])) * 3600',
          legend: 'put off: {{provider}} {{tier}}, per hour',
        },
      ],
    },
    {
      title: 'Spend by workspace, route and model',
      about: 'In the time range of the dashboard.',
      kind: 'table',
      unit: 'currencyUSD',
      width: 12,
      queries: [
        {
          expr: `sort_desc(sum by (workspace, route, provider, model) (increase(${COST}[$__range])) > 0)`,
          legend: '{{workspace}} {{route}} {{provider}}/{{model}}',
        },
      ],
    },
  ],
};
