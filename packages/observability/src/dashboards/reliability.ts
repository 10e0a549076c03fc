import type { DashboardSpec, PanelSpec, Query } from './panels.js';

const CHAT = 'gateway_http_requests_total{path="/v1/chat/completions"}';

const panel = (title: string, about: string, unit: string, ...queries: Query[]): PanelSpec => ({
  title,
  about,
  kind: 'timeseries',
  unit,
  width: 12,
  queries,
});

export const reliabilityDashboard: DashboardSpec = {
  uid: 'sluice-reliability',
  title: 'Sluice: reliability',
  about: 'What fails, where, and what the gateway does about it.',
  panels: [
    panel('Answers by code', 'ok, and the error codes of docs/errors.md.', 'reqps', {
      expr: `sum by (code) (rate(${CHAT}[$__rate_interval])) > 0`,
      legend: '{{code}}',
    }),
    panel(
      'Failed, by workspace and route',
      'Who is failing. Refused requests and callers who left are not in it.',
      'reqps',
      {
        expr: 'sum by (workspace, route) (rate(gateway_requests_total{workspace=~"$workspace",route=~"$route",outcome="failed"}[$__rate_interval])) > 0',
        legend: '{{workspace}} {{route}}',
      },
    ),
    panel('Not served, by reason', 'docs/errors.md says what each reason means.', 'reqps', {
      expr: 'sum by (kind, reason) (rate(gateway_unserved_requests_total{workspace=~"$workspace"}[$__rate_interval])) > 0',
      legend: '{{kind}}: {{reason}}',
    }),
    panel('Failed provider calls', 'By provider and outcome.', 'reqps', {
      expr: 'sum by (provider, outcome) (rate(gateway_provider_requests_total{provider=~"$provider",outcome!="ok"}[$__rate_interval])) > 0',
      legend: '{{provider}} {{outcome}}',
    }),
    panel('Fallbacks by reason', 'Requests that went on to the next entry of their route.', 'reqps', {
      expr: 'sum by (route, from, to, reason) (rate(gateway_fallbacks_total{route=~"$route"}[$__rate_interval])) > 0',
      legend: '{{route}}: {{from}} → {{to}} ({{reason}})',
    }),
    panel(
      'Answers checked against JSON schemas',
      'The caller’s schema. One that does not fit goes to the next entry of its route.',
      'reqps',
      {
        expr: 'sum by (provider, result) (rate(gateway_answer_checks_total{provider=~"$provider"}[$__rate_interval])) > 0',
        legend: '{{provider}} {{result}}',
      },
    ),
    panel('Limits met by reason', 'The provider’s, ours for the provider, the workspace’s own.', 'reqps', {
      expr: 'sum by (provider, reason) (rate(gateway_rate_limited_total[$__rate_interval])) > 0',
      legend: '{{provider}} {{reason}}',
    }),
    panel(
      'Cool-downs and open circuits',
      '1 while a provider is left alone after a 429, or because it kept failing.',
      'short',
      {
        expr: 'max by (provider) (gateway_provider_cooldown{provider=~"$provider"})',
        legend: '{{provider}} cooling down',
      },
      {
        expr: 'max by (provider) (gateway_provider_circuit_open{provider=~"$provider"})',
        legend: '{{provider}} circuit open',
      },
    ),
    panel(
      'Work saved',
      'Jobs taken over from dead workers, added again after Redis lost them, not run a third time, refused late.',
      'short',
      { expr: 'sum(increase(gateway_jobs_recovered_total[$__rate_interval]))', legend: 'recovered' },
      { expr: 'sum(increase(gateway_jobs_readded_total[$__rate_interval]))', legend: 'added again' },
      { expr: 'sum(increase(gateway_jobs_quarantined_total[$__rate_interval]))', legend: 'quarantined' },
      { expr: 'sum(increase(gateway_ghost_jobs_total[$__rate_interval]))', legend: 'ghosts' },
      { expr: 'sum(increase(gateway_late_results_total[$__rate_interval]))', legend: 'late results' },
    ),
    panel(
      'Redis set up to lose requests, and connections dropped',
      '1 while Redis has no append-only file, or may evict. Connections above what an api process can hold.',
      'short',
      { expr: 'max by (reason) (gateway_redis_worry)', legend: '{{reason}}' },
      {
        expr: 'sum(increase(gateway_connections_dropped_total[$__rate_interval]))',
        legend: 'connections dropped',
      },
    ),
    panel(
      'Configuration and tokens',
      'How often gateway.yaml was read again, processes that work with an older one, tokens that could not be fetched.',
      'short',
      {
        expr: 'sum by (result) (increase(gateway_config_reloads_total[$__rate_interval]))',
        legend: 'read again: {{result}}',
      },
      { expr: 'sum(gateway_config_faulty)', legend: 'with an older configuration' },
      {
        expr: 'sum by (provider) (increase(gateway_provider_token_fetches_total{result="failed"}[$__rate_interval]))',
        legend: 'no token of {{provider}}',
      },
    ),
    panel(
      'Wrong keys and sign-ins',
      'The log of the api has the addresses they came from.',
      'reqps',
      {
        expr: 'sum by (listener) (rate(gateway_wrong_keys_total[$__rate_interval]))',
        legend: 'wrong key: {{listener}}',
      },
      {
        expr: 'sum by (way, outcome) (rate(gateway_sign_ins_total[$__rate_interval]))',
        legend: 'sign-in by {{way}}: {{outcome}}',
      },
    ),
    panel(
      'Callers who hung up, and replays',
      'Cancelled while waiting or running; answered again for an Idempotency-Key.',
      'reqps',
      {
        expr: 'sum by (state) (rate(gateway_cancelled_total[$__rate_interval]))',
        legend: 'left while {{state}}',
      },
      { expr: 'sum(rate(gateway_idempotent_replays_total[$__rate_interval]))', legend: 'replayed' },
    ),
  ],
};
