import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { dashboards } from '@sluice/observability/dashboards/index';
import { RUNBOOK_UID, readRunbook } from '@sluice/observability/runbook-sections';
import { Metrics } from '@sluice/shared/metrics/create';
import { METRICS, type MetricDefinition, type MetricKey } from '@sluice/shared/metrics/definitions';
import test from 'ava';
import { parse } from 'yaml';
import { testNeeding } from '../helpers/test-needing.js';
import { PROMETHEUS, promtool } from '../helpers/tools.js';

const repository = new URL('../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, repository), 'utf8');
const CASES = ['prometheus/alerts.test.yml', 'prometheus/alerts-cost.test.yml'];
const cwd = fileURLToPath(repository);

interface Rule {
  alert: string;
  expr: string;
  annotations: { summary: string; runbook: string };
}
const rules: Rule[] = parse(read('prometheus/alerts.yml')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
);

const testWithPrometheus = testNeeding(PROMETHEUS);

function runPromtool(...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(promtool(), args, {
    cwd,
    encoding: 'utf8',
  });
  return { status, output: `${stdout}${stderr}` };
}

testWithPrometheus('Prometheus accepts its configuration and the alert rules', (t) => {
  const { status, output } = runPromtool('check', 'config', 'prometheus.yml');
  t.is(status, 0, output);
});

testWithPrometheus('every alert rings when it should, and a healthy gateway rings none', (t) => {
  const { status, output } = runPromtool('test', 'rules', ...CASES);
  t.is(status, 0, output);
  const tests = CASES.flatMap((path) => parse(read(path)).tests);
  const cases: { alertname: string; exp_alerts?: unknown[] }[] = tests.flatMap(
    ({ alert_rule_test }: { alert_rule_test: [] }) => alert_rule_test,
  );
  for (const { alert } of rules) {
    t.true(
      cases.some(({ alertname, exp_alerts }) => alertname === alert && exp_alerts),
      `${alert} rings`,
    );
    t.true(
      cases.some(({ alertname, exp_alerts }) => alertname === alert && !exp_alerts),
      `${alert} is silent`,
    );
  }
});

test('every alert has its section in the runbook, and the runbook has no others', (t) => {
  const sections = [...read('docs/runbook.md').matchAll(/^## (.+)$/gm)].map(([, title]) => title);
  t.deepEqual(
    sections,
    rules.map(({ alert }) => alert),
  );
  for (const { alert, annotations } of rules)
    t.is(annotations.runbook, `docs/runbook.md#${alert.toLowerCase()}`);
});

testWithPrometheus('our own metrics pass Prometheus’ lint', async (t) => {
  for (const role of ['api', 'worker'] as const) {
    const metrics = new Metrics(role);
    const keys = (Object.keys(METRICS) as MetricKey[]).filter((key) => key !== 'buildInfo');
    for (const key of keys) {
      const { type, roles }: MetricDefinition = METRICS[key];
      if (!roles.includes(role)) continue;
      if (type === 'counter') metrics.counter(key as 'cost');
      else if (type === 'gauge') metrics.gauge(key as 'workers');
      else metrics.histogram(key as 'overhead');
    }
    const { status, stdout, stderr } = spawnSync(promtool(), ['check', 'metrics'], {
      input: await metrics.text(),
      encoding: 'utf8',
    });
    t.is(status, 0, `${stdout}${stderr}`);
  }
});

test('every metric that a dashboard, an alert or a page names exists', (t) => {
  const known = new Set<string>(
    Object.values(METRICS).flatMap(({ name, type }) =>
      type === 'histogram' ? [name, ...['_bucket', '_sum', '_count'].map((part) => name + part)] : [name],
    ),
  );
  const pages = readdirSync(new URL('docs/', repository), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path}`);
  const texts = new Map([
    ...['README.md', 'ARCHITECTURE.md', 'prometheus/alerts.yml', ...CASES, ...pages].map(
      (path): [string, string] => [path, read(path)],
    ),
    ...dashboards.map(({ uid }): [string, string] => [uid, read(`grafana/dashboards/${uid}.json`)]),
  ]);
  for (const [path, text] of texts)
    for (const [name] of text.matchAll(/\bgateway_[a-z_]+\b/g))
      t.true(known.has(name), `${path} names ${name}, which is no metric`);
});

test('every metric is on a dashboard or in an alert', (t) => {
  const used = [
    ...rules.map(({ expr }) => expr),
    ...dashboards.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(({ expr }) => expr))),
  ].join('\n');
  for (const { name } of Object.values(METRICS)) t.true(new RegExp(`\\b${name}`).test(used), name);
});

interface BuiltPanel {
  title: string;
  type: string;
  links?: { url: string }[];
  options: { legend?: { showLegend: boolean } };
  targets: { expr: string }[];
}

test('every selector of a dashboard is used, every series has its legend, and every link leads somewhere', (t) => {
  const uids = [...dashboards.map(({ uid }) => uid), RUNBOOK_UID];
  const sections = readRunbook();
  for (const { uid } of dashboards) {
    const built = JSON.parse(read(`grafana/dashboards/${uid}.json`));
    const panels: BuiltPanel[] = built.panels;
    const exprs = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n');
    const selectors: string[] = built.templating.list.map(({ name }: { name: string }) => name);
    t.true(selectors.length > 0, uid);
    for (const name of selectors) t.true(exprs.includes(`$${name}"`), `${uid}: $${name} is used`);
    for (const [, name] of exprs.matchAll(/"\$(\w+)"/g))
      t.true(selectors.includes(name ?? ''), `${uid}: ${name}`);
    for (const { title, type, options } of panels)
      if (type === 'timeseries') t.true(options.legend?.showLegend, `${uid}: ${title}`);
    t.deepEqual(built.links[0].tags, ['sluice'], 'it leads to the other dashboards');
    t.true(built.tags.includes('sluice'));
    for (const { url } of [built.links[1], ...panels.flatMap(({ links = [] }) => links)]) {
      const [, target, panel] = /^\/d\/([\w-]+)(?:\?viewPanel=(\d+))?$/.exec(url) ?? [];
      t.true(uids.includes(target ?? ''), url);
      if (panel !== undefined) t.true(Number(panel) > 1 && Number(panel) <= sections.length, url);
    }
  }
  const runbook: { panels: { id: number; title: string }[] } = JSON.parse(
    read(`grafana/dashboards/${RUNBOOK_UID}.json`),
  );
  t.deepEqual(
    runbook.panels.slice(1).map(({ title }) => title),
    rules.map(({ alert }) => alert),
  );
  t.is(dashboards[0]?.uid, 'sluice-overview');
  t.true(read('docker-compose.yml').includes('/etc/grafana/dashboards/sluice-overview.json'));
});

test('Grafana’s idea of the scrape interval is Prometheus’', (t) => {
  const { datasources } = parse(read('grafana/provisioning/datasources/prometheus.yml'));
  t.is(datasources[0].jsonData.timeInterval, parse(read('prometheus.yml')).global.scrape_interval);
  t.is(datasources[0].uid, 'prometheus');
  for (const { uid } of dashboards) {
    const { panels, templating } = JSON.parse(read(`grafana/dashboards/${uid}.json`));
    for (const { name, refresh } of templating?.list ?? [])
      t.true(
        refresh > 0,
        `${uid}: the values of $${name} would be those of this file, of which there are none`,
      );
    for (const panel of panels) {
      t.is(panel.datasource.uid, 'prometheus');
      const refIds = panel.targets.map(({ refId }: { refId: string }) => refId);
      t.is(new Set(refIds).size, refIds.length, `${uid}: ${panel.title}`);
    }
  }
});
