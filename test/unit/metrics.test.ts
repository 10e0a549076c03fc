import { readFileSync } from 'node:fs';
import { ApiMetrics } from '@sluice/api/cell/metrics';
import { RequestTally } from '@sluice/api/cell/request-tally';
import { generatedFiles } from '@sluice/observability/generated';
import { Metrics } from '@sluice/shared/metrics/create';
import { METRICS, type MetricDefinition } from '@sluice/shared/metrics/definitions';
import { ModelLabels } from '@sluice/shared/metrics/labels';
import { startMetricsServer } from '@sluice/shared/metrics/server';
import { WorkspaceLabels } from '@sluice/shared/metrics/workspace-labels';
import { loadShippedRegistry } from '@sluice/shared/registry/model-registry';
import { WorkerMetrics } from '@sluice/worker/jobs/worker-metrics';
import test from 'ava';
import { parseSamples, sumOf } from '../helpers/scrape.js';
import { until } from '../helpers/until.js';

const KINDS = new Map([
  ['openai', { prices: 'openai' }],
  ['anthropic', { prices: 'anthropic' }],
]);
const DIRECTORY = [
  {
    id: 'demo',
    name: 'demo',
    created: 0,
    limits: { requestsPerMinute: undefined, concurrentRequests: undefined, budgetUsdPerMonth: undefined },
    routes: new Map([
      [
        'fast',
        {
          chain: [
            { provider: 'openai', model: 'gpt-4o-mini' },
            { provider: 'anthropic', model: 'my-own-model' },
          ],
          onCrash: 'rerun' as const,
          created: 0,
        },
      ],
    ]),
  },
];

function createWorkerMetrics() {
  const registry = loadShippedRegistry();
  const metrics = new Metrics('worker');
  const labels = new WorkspaceLabels(1);
  labels.give(['demo']);
  const models = new ModelLabels(() => registry, KINDS);
  const direct = [{ provider: 'openai', model: 'gpt-4o' }];
  const worker = new WorkerMetrics(metrics, models, KINDS.keys(), direct, [], labels);
  worker.update(DIRECTORY);
  return { metrics, worker, samples: async () => parseSamples(await metrics.text()) };
}

test('names and labels follow Prometheus’ conventions', (t) => {
  const definitions: MetricDefinition[] = Object.values(METRICS);
  t.is(new Set(definitions.map(({ name }) => name)).size, definitions.length);
  for (const { name, type, labels, help, buckets } of definitions) {
    t.regex(name, /^gateway_[a-z_]+$/);
    t.is(name.endsWith('_total'), type === 'counter', name);
    if (type === 'histogram') t.true(name.endsWith('_seconds'), name);
    t.is(buckets !== undefined, type === 'histogram', name);
    t.deepEqual(
      buckets,
      buckets && [...buckets].sort((a, b) => a - b),
      `the buckets of ${name} are in order`,
    );
    t.true(help.endsWith('.'), name);
    for (const label of labels) t.notRegex(label, /key|user|request|prompt|id$/, name);
  }
});

test('every file that is made from code is as the code makes it', (t) => {
  for (const [path, text] of generatedFiles()) {
    const committed = readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
    t.true(committed === text, `${path} is out of date: run "npm run docs"`);
  }
});

test('what is configured has its series before anything has happened', async (t) => {
  const samples = await createWorkerMetrics().samples();
  const route = { workspace: 'demo', route: 'fast' };
  t.is(sumOf(samples, 'gateway_cost_usd_total', { ...route, model: 'gpt-4o-mini' }), 0);
  t.is(sumOf(samples, 'gateway_cost_usd_total', { ...route, model: 'my-own-model' }), 0);
  t.is(sumOf(samples, 'gateway_cost_usd_total', { route: '(direct)', model: 'gpt-4o' }), 0);
  for (const reason of ['timeout', 'backlog', 'unknown'])
    t.is(sumOf(samples, 'gateway_fallbacks_total', { route: 'fast', reason }), 0, reason);
  for (const reason of ['upstream', 'cooldown', 'concurrency', 'backlog'])
    t.is(sumOf(samples, 'gateway_rate_limited_total', { provider: 'openai', reason }), 0, reason);
  t.is(sumOf(samples, 'gateway_jobs_recovered_total', { provider: 'anthropic' }), 0);
  t.is(sumOf(samples, 'gateway_queue_wait_seconds_count', { provider: 'openai' }), 0);
});

test('ten thousand made-up models are one label', async (t) => {
  const { worker, samples } = createWorkerMetrics();
  const before = (await samples()).length;
  for (let i = 0; i < 10_000; i++)
    worker.called({ provider: 'openai', model: `gpt-${i}-nonsense` }, 'ok', 10);
  const after = await samples();
  t.is(sumOf(after, 'gateway_provider_requests_total', { model: 'other', outcome: 'ok' }), 10_000);
  t.true(after.length - before < 50, `${after.length - before} more samples`);
});

test('the busiest workspaces have labels of their own, the others share one, and a label stays', async (t) => {
  const metrics = new Metrics('api');
  const labels = new WorkspaceLabels(2);
  const tally = new RequestTally(metrics, labels);
  const [demo] = DIRECTORY;
  if (!demo) throw new Error('no workspace');
  const directory = ['quiet', 'busy', 'demo'].map((id) => ({ ...demo, id }));
  await labels.learn(directory, async () => ['gone', 'busy']);
  tally.update(directory);
  const samples = async () => parseSamples(await metrics.text());
  const ended = async (of: Record<string, string>) => sumOf(await samples(), 'gateway_requests_total', of);
  t.is(await ended({ workspace: 'busy', route: 'fast', outcome: 'failed' }), 0, 'it begins at zero');
  t.is(await ended({ workspace: 'demo' }), undefined);
  tally.count('demo', 'fast', undefined, 2);
  t.is(
    await ended({ workspace: 'demo', route: 'fast', outcome: 'ok' }),
    1,
    'the last label is for who comes first',
  );
  for (let i = 0; i < 10_000; i++) tally.count(`made-up-${i % 500}`, `route-${i}`, 'budget_spent', 1);
  t.is(await ended({ workspace: 'other', outcome: 'refused' }), 10_000);
  tally.count('demo', 'fast', 'provider_error', 1);
  tally.count(undefined, null, 'key_unknown', 1);
  t.is(await ended({ workspace: 'demo', route: 'fast', outcome: 'ok' }), 1);
  t.is(await ended({ workspace: 'demo', outcome: 'failed' }), 1);
  t.is(await ended({ workspace: 'none', outcome: 'refused' }), 1);
  const unserved = async (of: Record<string, string>) =>
    sumOf(await samples(), 'gateway_unserved_requests_total', of);
  t.is(await unserved({ kind: 'policy', reason: 'budget_spent' }), 10_000);
  t.is(await unserved({ workspace: 'demo', kind: 'failed', reason: 'provider_error' }), 1);
  t.is(sumOf(await samples(), 'gateway_request_seconds_total', { workspace: 'demo' }), 2);
  t.true((await samples()).length < 1_000);
});

test('what every request counts is in each scrape, once, however many requests there were', async (t) => {
  const { worker, samples } = createWorkerMetrics();
  const entry = { provider: 'openai', model: 'gpt-4o' };
  const labels = { provider: 'openai', model: 'gpt-4o' };
  for (const calls of [1, 300, 1_000]) {
    const before = await samples();
    for (let i = 0; i < calls; i++) worker.called(entry, 'ok', 1_000);
    const after = await samples();
    const more = (name: string, of: Record<string, string>) =>
      (sumOf(after, name, of) ?? 0) - (sumOf(before, name, of) ?? 0);
    t.is(more('gateway_provider_requests_total', { ...labels, outcome: 'ok' }), calls);
    t.is(more('gateway_provider_request_duration_seconds_count', labels), calls);
    t.is(more('gateway_provider_request_duration_seconds_sum', labels), calls);
    t.is(more('gateway_provider_request_duration_seconds_bucket', { ...labels, le: '1' }), calls);
    t.is(more('gateway_provider_request_duration_seconds_bucket', { ...labels, le: '0.5' }), 0);
  }
});

test('ten thousand made-up methods are one label', async (t) => {
  const metrics = new Metrics('api');
  const api = new ApiMetrics(metrics, KINDS.keys());
  const count = async () => parseSamples(await metrics.text()).length;
  api.ended('other', 'MADE-UP', 404, 'not_found', 0.001);
  const before = await count();
  for (let i = 0; i < 10_000; i++) api.ended('other', `METHOD-${i}`, 404, 'not_found', 0.001);
  t.is(await count(), before);
});

test('a model of a route, and a dated id of a known model, keep their names', async (t) => {
  const { worker, samples } = createWorkerMetrics();
  worker.called({ provider: 'anthropic', model: 'my-own-model' }, 'timeout', 10);
  worker.called({ provider: 'openai', model: 'gpt-4o-mini-2024-07-18' }, 'ok', 10);
  worker.called({ provider: 'openai', model: 'my-own-model' }, 'ok', 10);
  const requests = (labels: Record<string, string>) => async () =>
    sumOf(await samples(), 'gateway_provider_requests_total', labels);
  t.is(await requests({ model: 'my-own-model', outcome: 'timeout' })(), 1);
  t.is(await requests({ provider: 'openai', model: 'other' })(), 1);
  const mini = (await samples()).filter(({ labels }) => labels.model?.startsWith('gpt-4o-mini'));
  t.is(sumOf(mini, 'gateway_provider_requests_total', { outcome: 'ok' }), 1);
});

const listenerFor = (metrics: Metrics) =>
  startMetricsServer({ host: '127.0.0.1', port: 0, metrics, problems: () => [], warnings: () => [] });

test('a process that has counted something since its last scrape stays for one more, and then leaves at once', async (t) => {
  const metrics = new Metrics('worker');
  const recovered = metrics.counter('jobsRecovered');
  const listener = await listenerFor(metrics);
  const url = `${listener.url}/metrics`;
  t.is((await fetch(url)).status, 200);
  recovered.inc({ provider: 'openai' });
  let closed = false;
  const closing = listener.close(3_600_000).then(() => {
    closed = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.false(closed);
  t.regex(await (await fetch(url)).text(), /gateway_build_info\{.*role="worker"\} 1/);
  await closing;
  await t.throwsAsync(fetch(url));
});

test('a process whose last count was scraped does not wait for another scrape', async (t) => {
  const metrics = new Metrics('worker');
  metrics.counter('jobsRecovered').inc({ provider: 'openai' });
  const listener = await listenerFor(metrics);
  await (await fetch(`${listener.url}/metrics`)).text();
  await listener.close(3_600_000);
  await t.throwsAsync(fetch(`${listener.url}/metrics`));
});

test('a process that nobody scrapes does not wait to be scraped', async (t) => {
  const listener = await listenerFor(new Metrics('worker'));
  await listener.close(3_600_000);
  t.pass();
});

test('a scraper that has gone is not waited for without end', async (t) => {
  const metrics = new Metrics('worker');
  const recovered = metrics.counter('jobsRecovered');
  const listener = await listenerFor(metrics);
  await (await fetch(`${listener.url}/metrics`)).text();
  recovered.inc({ provider: 'openai' });
  let closed = false;
  void listener.close(50).then(() => {
    closed = true;
  });
  await t.notThrowsAsync(until('closed', () => closed));
});
