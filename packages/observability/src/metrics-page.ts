import { METRICS, type MetricDefinition } from '@sluice/shared/metrics/definitions';

/** What the help of a metric says when all processes of a role count the same thing. The page has a star for it. */
const SHARED = / The same from every (?:api process|worker)[^.]*\./;

/** docs/metrics.md */
export function metricsPage(): string {
  const metrics: MetricDefinition[] = Object.values(METRICS);
  const listOf = (...roles: string[]) =>
    metrics
      .filter((metric) => metric.roles.join() === roles.join())
      .map(lineOf)
      .join('\n');
  const buckets = metrics.flatMap(({ name, buckets }) =>
    buckets ? [`- \`${name}\`: ${buckets.join(', ')}`] : [],
  );
  return `<!-- Made by "npm run docs" from packages/shared/src/metrics/definitions.ts; edit that. -->
# Metrics and dashboards

Every api and worker process serves its metrics at \`/metrics\` on a listener of its own (\`METRICS_HOST\`, \`METRICS_PORT\`), with the usual ones of a Node process
(\`process_…\`, \`nodejs_…\`). Names and labels are part of the interface: a change is a breaking one. Labels stand in braces. A name that ends with \`_total\` is a counter,
one with [buckets](#buckets) a histogram, and any other a gauge. \\* is the same from every process: use max, never sum.

## Of api processes

${listOf('api')}

## Of workers

${listOf('worker')}

## Of both

${listOf('api', 'worker')}

The \`METRICS_TOP_WORKSPACES\` busiest workspaces have a label of their own, and up to fifty routes of each; the rest is \`other\`. A
workspace keeps its label while the process runs. Gauges about a month or a budget have all workspaces. A \`model\` that neither the registry
nor a route knows is \`other\`. Series of what is configured exist from the start, at zero. What a process counts after its last scrape
is lost to Prometheus; the ledger loses nothing (\`gateway_ledger_cost_usd_total\`).

## Buckets

Upper bounds, in seconds:

${buckets.join('\n')}

## Dashboards

\`docker compose up\` starts Grafana with five dashboards and one that has the [runbook](runbook.md). With a Prometheus and Grafana of your own,
scrape the processes as the jobs \`api\` and \`worker\`, load \`prometheus/alerts.yml\` and import
\`grafana/dashboards\`, which ask the data source with the uid \`prometheus\`. \`npm run docs\` makes the dashboards from
\`packages/observability/src/dashboards/\`, and a test sends each query to a real Prometheus. The pictures are **not of Grafana**: \`npm run pictures\`
ran a gateway with a simulated upstream, with failures on purpose, and drew the same queries.

${['overview', 'cost', 'latency', 'reliability', 'queues'].map((name) => `![${name}](images/sluice-${name}.svg)`).join('\n\n')}
`;
}

/** The name with its labels in braces, as in a query. */
function lineOf({ name, labels, help }: MetricDefinition): string {
  const star = SHARED.test(help) ? ' \\*' : '';
  const braces = labels.length > 0 ? `{${labels.join(',')}}` : '';
  return `- \`${name}${braces}\`${star}: ${help.replace(SHARED, '')}`;
}
