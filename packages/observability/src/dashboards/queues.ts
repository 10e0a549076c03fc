import type { DashboardSpec, PanelSpec, Query } from './panels.js';

const panel = (title: string, about: string, unit: string, ...queries: Query[]): PanelSpec => ({
  title,
  about,
  kind: 'timeseries',
  unit,
  width: 12,
  queries,
});

/** Every api process reports the same queues, so it is `max`, never `sum`. */
export const queuesDashboard: DashboardSpec = {
  uid: 'sluice-queues',
  title: 'Sluice: queues and processes',
  about: 'How much waits, for whom, and who works on it.',
  panels: [
    panel(
      'Waiting',
      'By provider. Prioritized jobs wait behind quieter workspaces, and parked ones for a limit per minute.',
      'short',
      {
        expr: 'max by (provider, state) (gateway_queue_jobs{provider=~"$provider",state!="active"})',
        legend: '{{provider}} {{state}}',
      },
    ),
    panel('Longest wait', 'Of the job at the head of the queue.', 's', {
      expr: 'max by (provider) (gateway_queue_oldest_waiting_seconds{provider=~"$provider"})',
      legend: '{{provider}}',
    }),
    panel(
      'Calls against their limit',
      'At the limit, requests wait.',
      'short',
      {
        expr: 'max by (provider) (gateway_provider_active{provider=~"$provider"})',
        legend: '{{provider}} active',
      },
      {
        expr: 'max by (provider) (gateway_provider_concurrency_limit{provider=~"$provider"})',
        legend: '{{provider}} limit',
      },
    ),
    panel('Limits per minute', 'How much of each is used. At 100 % requests wait.', 'percentunit', {
      expr: 'max by (provider, account, models, type) (gateway_provider_rate_used_ratio{provider=~"$provider"})',
      legend: '{{provider}} {{account}} {{models}} {{type}}',
    }),
    panel(
      'Keys of providers',
      'Calls under way with each of several keys, and 1 while a key is left alone.',
      'short',
      {
        expr: 'max by (provider, account) (gateway_provider_key_active{provider=~"$provider"})',
        legend: '{{provider}} {{account}} calls',
      },
      {
        expr: 'max by (provider, account, reason) (gateway_provider_key_blocked{provider=~"$provider"})',
        legend: '{{provider}} {{account}} {{reason}}',
      },
    ),
    panel(
      'Batches',
      'Under way, and the age of the oldest one in hours. One of 24 hours expires.',
      'short',
      {
        expr: 'max(gateway_batches_active)',
        legend: 'under way',
      },
      { expr: 'max(gateway_batch_oldest_seconds) / 3600', legend: 'age of the oldest, hours' },
      { expr: 'max(gateway_provider_batches_active)', legend: 'parts at providers' },
    ),
    panel(
      'Batches at providers',
      'Lines that were handed to providers’ own batch APIs and came back, and the calls of these APIs.',
      'short',
      {
        expr: 'sum by (provider, outcome) (rate(gateway_provider_batch_lines_total{provider=~"$provider"}[$__rate_interval]))',
        legend: '{{provider}} lines {{outcome}}',
      },
      {
        expr: 'sum by (provider, result) (rate(gateway_provider_batch_calls_total{provider=~"$provider"}[$__rate_interval]))',
        legend: '{{provider}} calls {{result}}',
      },
    ),
    panel('Lines of batches', 'That ended, and tries that were put off.', 'short', {
      expr: 'sum by (outcome) (rate(gateway_batch_lines_total[$__rate_interval]))',
      legend: '{{outcome}}',
    }),
    panel(
      'Webhooks',
      'Messages that were delivered, failed, were given up or dropped, and those that wait.',
      'short',
      {
        expr: 'sum by (outcome) (rate(gateway_webhook_deliveries_total[$__rate_interval]))',
        legend: '{{outcome}} a second',
      },
      { expr: 'max(gateway_webhook_deliveries_waiting)', legend: 'waiting' },
    ),
    panel(
      'Processes',
      'Workers as the apis see them, and what Prometheus can reach.',
      'short',
      { expr: 'max(gateway_workers)', legend: 'workers' },
      { expr: 'sum by (job) (up)', legend: '{{job}} reachable' },
      { expr: 'min(gateway_redis_up)', legend: 'Redis' },
      { expr: 'min by (shard) (gateway_shard_up)', legend: 'shard {{shard}}' },
    ),
    panel('Memory', 'Resident, by process.', 'bytes', {
      expr: 'process_resident_memory_bytes{job=~"api|worker"}',
      legend: '{{job}} {{instance}}',
    }),
    panel('CPU', '1 is one core: an api or worker process cannot use more.', 'percentunit', {
      expr: 'rate(process_cpu_seconds_total{job=~"api|worker"}[$__rate_interval])',
      legend: '{{job}} {{instance}}',
    }),
    panel('Event loop lag, p99', 'Above some tens of milliseconds a process is overloaded.', 's', {
      expr: 'nodejs_eventloop_lag_p99_seconds{job=~"api|worker"}',
      legend: '{{job}} {{instance}}',
    }),
    panel('Versions', 'Processes by version and role.', 'short', {
      expr: 'count by (version, role) (gateway_build_info)',
      legend: '{{role}} {{version}}',
    }),
  ],
};
