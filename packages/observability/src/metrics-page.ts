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
  const histograms = metrics.flatMap(({ name, buckets }) => (buckets ? [`\`${name}\``] : []));
  return `<!-- Made by "npm run docs" from packages/shared/src/metrics/definitions.ts; edit that. -->
# Metrics and dashboards

Every process serves its metrics at \`/metrics\` of \`METRICS_HOST\` and \`METRICS_PORT\`, with the usual ones of Node (\`process_…\`, \`nodejs_…\`).
A change of names or labels is a breaking one. A name that ends with \`_total\` is a counter. Histograms are
${histograms.join(', ')}. Any other is a gauge. \\* is the same from every process: use max, never sum.

## Of api processes

${listOf('api')}

## Of workers

${listOf('worker')}

## Of both

${listOf('api', 'worker')}

The \`METRICS_TOP_WORKSPACES\` busiest workspaces have a label of their own, and up to fifty routes of each; the rest is \`other\`, and so is a
\`model\` that neither the registry nor a route knows. Gauges about a month or a budget have all workspaces. Series of what is configured
exist from the start, at zero. What a process counts after its last scrape is lost to Prometheus, not to the ledger.

## Dashboards

\`docker compose up\` starts Grafana with five dashboards and the [runbook](runbook.md). With a Prometheus and Grafana of your own,
scrape the processes as the jobs \`api\` and \`worker\`, load \`prometheus/alerts.yml\` and import
\`grafana/dashboards\`, which ask the data source with the uid \`prometheus\`. The pictures are **not of Grafana**: \`npm run pictures\`
drew the same queries of a gateway with a simulated upstream, with failures on purpose.

${['overview', 'cost', 'latency', 'reliability', 'queues'].map((name) => `![${name}](images/sluice-${name}.svg)`).join('\n\n')}
`;
}

/** The name with its labels in braces, as in a query. */
function lineOf({ name, labels, help }: MetricDefinition): string {
  const star = SHARED.test(help) ? ' \\*' : '';
  const braces = labels.length > 0 ? `{${labels.join(',')}}` : '';
  return `- \`${name}${braces}\`${star}: ${help.replace(SHARED, '')}`;
}
