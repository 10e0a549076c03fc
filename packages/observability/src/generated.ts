/** Every file that is made from code: its path in the repository, and what is to be in it. */
import { dashboards } from './dashboards/index.js';
import { buildDashboard } from './dashboards/panels.js';
import { buildRunbookDashboard } from './dashboards/runbook.js';
import { metricsPage } from './metrics-page.js';
import { RUNBOOK_UID } from './runbook-sections.js';

export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map([
    ['docs/metrics.md', metricsPage()],
    [`grafana/dashboards/${RUNBOOK_UID}.json`, buildRunbookDashboard()],
    ...dashboards.map((spec): [string, string] => [
      `grafana/dashboards/${spec.uid}.json`,
      buildDashboard(spec),
    ]),
  ]);
}
