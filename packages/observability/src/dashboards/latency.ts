import type { DashboardSpec, PanelSpec, Query } from './panels.js';

const quantile = (q: number, histogram: string, by: string[] = []) =>
  `histogram_quantile(${q}, sum by (${['le', ...by].join(', ')}) (rate(${histogram}[$__rate_interval])))`;

const quantiles = (histogram: string): Query[] =>
  [0.5, 0.95, 0.99].map((q) => ({ expr: quantile(q, histogram), legend: `p${q * 100}` }));

const panel = (title: string, about: string, queries: Query[]): PanelSpec => ({
  title,
  about,
  kind: 'timeseries',
  unit: 's',
  width: 12,
  queries,
});

const CALLS = 'gateway_provider_request_duration_seconds_bucket{provider=~"$provider"}';
const WAITS = 'gateway_queue_wait_seconds_bucket{provider=~"$provider"}';
const OF = 'workspace=~"$workspace",route=~"$route"';

export const latencyDashboard: DashboardSpec = {
  uid: 'sluice-latency',
  title: 'Sluice: latency',
  about: 'Where the time of a request goes: the queue, the provider, the gateway.',
  panels: [
    panel(
      'Whole request',
      'Chat completions, as the caller sees them.',
      quantiles('gateway_http_request_duration_seconds_bucket{path="/v1/chat/completions"}'),
    ),
    panel('Provider calls', 'All providers, failed calls included.', quantiles(CALLS)),
    panel(
      'Wait in the queue',
      'Long waits mean that a provider’s concurrency is used up, or workers are few.',
      quantiles(WAITS),
    ),
    panel(
      'The gateway’s own part',
      'Whole request less wait and call. The wait is measured in whole milliseconds, and so is this.',
      quantiles('gateway_overhead_seconds_bucket'),
    ),
    panel('Provider calls, p95 by model', 'Compare models, and see one that slows down.', [
      { expr: quantile(0.95, CALLS, ['provider', 'model']), legend: '{{provider}}/{{model}}' },
    ]),
    panel('First token, p95 by model', 'Where answers are read in pieces (upstream_stream).', [
      {
        expr: quantile(0.95, 'gateway_provider_first_token_seconds_bucket{provider=~"$provider"}', [
          'provider',
          'model',
        ]),
        legend: '{{provider}}/{{model}}',
      },
    ]),
    panel('Wait in the queue, p95 by provider', 'Which provider’s queue is long.', [
      { expr: quantile(0.95, WAITS, ['provider']), legend: '{{provider}}' },
    ]),
    panel('Mean by route', 'Served requests. A mean hides the slowest ones; the request log has each.', [
      {
        expr: `sum by (workspace, route) (rate(gateway_request_seconds_total{${OF}}[$__rate_interval])) / (sum by (workspace, route) (rate(gateway_requests_total{${OF},outcome="ok"}[$__rate_interval])) > 0)`,
        legend: '{{workspace}} {{route}}',
      },
    ]),
    {
      ...panel('Requests per second', 'Chat completions answered, whatever the answer.', [
        {
          expr: 'sum(rate(gateway_http_requests_total{path="/v1/chat/completions"}[$__rate_interval]))',
          legend: 'requests',
        },
      ]),
      unit: 'reqps',
    },
    {
      ...panel('Requests in flight', 'Taken and not answered yet, over all api processes.', [
        { expr: 'sum(gateway_http_requests_in_flight)', legend: 'in flight' },
      ]),
      unit: 'short',
    },
  ],
};
