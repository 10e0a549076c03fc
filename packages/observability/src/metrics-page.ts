import { METRICS, type MetricDefinition } from '@sluice/shared/metrics/definitions';

/** docs/metrics.md */
export function metricsPage(): string {
  const metrics: MetricDefinition[] = Object.values(METRICS);
  const rows = metrics.map(({ name, type, roles, labels, help }) => {
    const labelList = labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${roles.join(', ')} | ${labelList} | ${help} |`;
  });
  const buckets = metrics.flatMap(({ name, buckets }) =>
    buckets ? [`| \`${name}\` | ${buckets.join(', ')} |`] : [],
  );
  return `<!-- Made by "npm run docs" from packages/shared/src/metrics/definitions.ts; edit that. -->
# Metrics

Every api and worker process serves these at \`/metrics\` on its own listener (\`METRICS_HOST\`, \`METRICS_PORT\`), never on
the public one, and beside them the usual ones of a Node process (\`process_…\`, \`nodejs_…\`). Names and labels are part of
the interface: a change is a breaking one.

| Metric | Type | Of | Labels | What |
|---|---|---|---|---|
${rows.join('\n')}

The \`METRICS_TOP_WORKSPACES\` busiest workspaces have a label of their own, and up to fifty routes of each; the rest is \`other\`.
A workspace keeps its label for as long as the process runs. Gauges about a workspace's month and budget have all of them. A \`model\` is one that the
registry or a route knows, and else \`other\`. Series of what is configured exist from the start, at zero, since
Prometheus cannot see the first increment of a series that was not there before.

What \`gateway_cost_usd_total\` counts after the last scrape of a process that dies is lost to Prometheus. The ledger in
Redis loses nothing; \`gateway_ledger_cost_usd_total\` shows it.

## Buckets

In seconds.

| Histogram | Upper bounds |
|---|---|
${buckets.join('\n')}
`;
}
