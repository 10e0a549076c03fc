/** The runbook as a dashboard: a panel of text for each alert. */
import {
  DashboardBuilder,
  DashboardLinkBuilder,
  DashboardLinkType,
  type Panel,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { PanelBuilder as TextBuilder, TextMode } from '@grafana/grafana-foundation-sdk/text';
import { RUNBOOK_UID, readRunbook } from '../runbook-sections.js';

const HEIGHT = 8;
const WIDTH = 12;

export function buildRunbookDashboard(): string {
  const builder = new DashboardBuilder('Sluice: runbook')
    .uid(RUNBOOK_UID)
    .description('What to do when an alert fires. Made from docs/runbook.md.')
    .tags(['sluice'])
    .link(
      new DashboardLinkBuilder('Sluice')
        .type(DashboardLinkType.Dashboards)
        .tags(['sluice'])
        .asDropdown(false),
    );
  for (const [i, { alert, text }] of readRunbook().entries()) {
    const panel = new TextBuilder()
      .title(alert || 'Where to look first')
      .mode(TextMode.Markdown)
      .content(text)
      .build();
    const gridPos = { h: HEIGHT, w: WIDTH, x: (i % 2) * WIDTH, y: Math.floor(i / 2) * HEIGHT };
    builder.withPanel({ build: () => ({ ...panel, id: i + 1, gridPos }) as Panel });
  }
  return `${JSON.stringify(builder.build(), null, 2)}\n`;
}
