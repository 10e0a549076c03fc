import { METRICS, type MetricDefinition } from '@sluice/shared/metrics/definitions';

/** What the help of a metric says when all processes of a role count the same thing. The page has a star for it. */
const SHARED = / The same from every (?:api process|worker)[^.]*\./;

/** A help of so few words says little more than the name. */
const FEW_WORDS = 8;

/** docs/metrics.md */
export function metricsPage(): string {
  const metrics: MetricDefinition[] = Object.values(METRICS);
  const listOf = (...roles: string[]) => {
    const own = metrics.filter((metric) => metric.roles.join() === roles.join());
    const plain = own.filter(isPlain).map(nameOf).join(', ');
    const lines = own.filter((metric) => !isPlain(metric)).map(lineOf);
    return [...lines, ...(plain ? ['', `Self-explanatory: ${plain}.`] : [])].join('\n');
  };
  const histograms = metrics.flatMap(({ name, buckets }) => (buckets ? [`\`${name}\``] : []));
  return `<!-- Made by "npm run docs" from packages/shared/src/metrics/definitions.ts; edit that. -->
# Metrics and dashboards

Every process serves \`/metrics\` at \`METRICS_HOST\` (\`127.0.0.1\`; set \`0.0.0.0\` for a Prometheus elsewhere) and \`METRICS_PORT\`, with the usual ones of Node (\`process_…\`, \`nodejs_…\`).
Names and labels stay until a new major version. A name that ends with \`_total\` is a counter. Histograms are
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

\`docker compose up\` starts Grafana with five dashboards and the [runbook](runbook.md). With your own, load \`prometheus/alerts.yml\`, import \`grafana/dashboards\` (data source with the uid \`prometheus\`), and name the jobs \`api\` and \`worker\`:

\`\`\`yaml
scrape_configs:
  - { job_name: api, static_configs: [{ targets: ['10.0.0.5:9464'] }] }
  - { job_name: worker, static_configs: [{ targets: ['10.0.0.6:9464', '10.0.0.7:9464'] }] }
\`\`\`

The pictures are **not of Grafana**: \`npm run pictures\` drew the same queries, with a simulated upstream.

${['overview', 'cost', 'latency', 'reliability', 'queues'].map((name) => `![${name}](images/sluice-${name}.svg)`).join('\n\n')}
`;
}

/** The page only names it; `/metrics` has its help. */
function isPlain({ help }: MetricDefinition): boolean {
  return help.replace(SHARED, '').split(' ').length <= FEW_WORDS;
}

/** With its labels in braces, as in a query. */
function nameOf({ name, labels, help }: MetricDefinition): string {
  const braces = labels.length > 0 ? `{${labels.join(',')}}` : '';
  return `\`${name}${braces}\`${SHARED.test(help) ? ' \\*' : ''}`;
}

function lineOf(metric: MetricDefinition): string {
  return `- ${nameOf(metric)}: ${metric.help.replace(SHARED, '')}`;
}
