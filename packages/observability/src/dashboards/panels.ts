/** The parts of a dashboard, and how they become Grafana's JSON. */
import {
  LegendDisplayMode,
  LegendPlacement,
  StackingConfigBuilder,
  StackingMode,
  VizLegendOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  DashboardBuilder,
  DashboardLinkBuilder,
  DashboardLinkType,
  type Panel,
  QueryVariableBuilder,
  VariableRefresh,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as TimeSeriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import { RUNBOOK_PATH, runbookUrl } from '../runbook-sections.js';

export interface Query {
  expr: string;
  legend: string;
}

export interface PanelSpec {
  title: string;
  /** The sentence that tells a person how to read it. */
  about: string;
  kind: 'timeseries' | 'stat' | 'table';
  /** One of Grafana's units. */
  unit: string;
  queries: Query[];
  /** A row has 24 columns. */
  width: number;
  stacked?: boolean;
  /** Instead of the dashboard's time range. */
  timeFrom?: string;
  /** The alert whose section of the runbook says what to do. */
  runbook?: string;
}

export interface DashboardSpec {
  /** Also the name of its file. */
  uid: string;
  title: string;
  about: string;
  panels: PanelSpec[];
}

/** A dashboard has the selectors that its queries use. */
const VARIABLES = [
  { name: 'workspace', label: 'Workspace', query: 'label_values(gateway_requests_total, workspace)' },
  { name: 'route', label: 'Route', query: 'label_values(gateway_requests_total, route)' },
  {
    name: 'provider',
    label: 'Provider',
    query: 'label_values(gateway_provider_concurrency_limit, provider)',
  },
] as const;

const DATASOURCE = { type: 'prometheus', uid: 'prometheus' };
const HEIGHT = { timeseries: 8, stat: 4, table: 9 };
const COLUMNS = 24;

export function buildDashboard({ uid, title, about, panels }: DashboardSpec): string {
  const builder = new DashboardBuilder(title)
    .uid(uid)
    .description(about)
    .tags(['sluice'])
    .timezone('utc')
    .time({ from: 'now-6h', to: 'now' })
    .refresh('30s')
    .link(linkTo('Sluice').type(DashboardLinkType.Dashboards).tags(['sluice']).includeVars(true))
    .link(linkTo('Runbook').type(DashboardLinkType.Link).url(RUNBOOK_PATH));
  for (const variable of VARIABLES.filter(({ name }) => uses(panels, name)))
    builder.withVariable(
      new QueryVariableBuilder(variable.name)
        .label(variable.label)
        .datasource(DATASOURCE)
        .query(variable.query)
        .refresh(VariableRefresh.OnTimeRangeChanged)
        .multi(true)
        .includeAll(true)
        .allValue('.*')
        .current({ text: 'All', value: '$__all' }),
    );
  const places = placesOf(panels);
  for (const [i, panel] of panels.entries())
    builder.withPanel({ build: () => ({ ...buildPanel(panel), id: i + 1, gridPos: places[i] }) as Panel });
  return `${JSON.stringify(builder.build(), null, 2)}\n`;
}

function linkTo(title: string): DashboardLinkBuilder {
  return new DashboardLinkBuilder(title).keepTime(true).asDropdown(false);
}

function uses(panels: readonly PanelSpec[], variable: string): boolean {
  return panels.some(({ queries }) => queries.some(({ expr }) => expr.includes(`$${variable}"`)));
}

/** From left to right; a panel that has no room in its row begins the next one. */
function placesOf(panels: readonly PanelSpec[]): { h: number; w: number; x: number; y: number }[] {
  let [x, y, rowHeight] = [0, 0, 0];
  return panels.map(({ kind, width }) => {
    if (x + width > COLUMNS) [x, y, rowHeight] = [0, y + rowHeight, 0];
    const place = { h: HEIGHT[kind], w: width, x, y };
    x += width;
    rowHeight = Math.max(rowHeight, place.h);
    return place;
  });
}

function buildPanel(panel: PanelSpec): Panel {
  const builder = builderOf(panel).title(panel.title).description(panel.about).datasource(DATASOURCE);
  if (panel.timeFrom) builder.timeFrom(panel.timeFrom);
  if (panel.runbook !== undefined)
    builder.links([linkTo('What to do').type(DashboardLinkType.Link).url(runbookUrl(panel.runbook))]);
  for (const [i, { expr, legend }] of panel.queries.entries()) {
    const query = new DataqueryBuilder().expr(expr).legendFormat(legend).datasource(DATASOURCE);
    query.refId(String.fromCharCode('A'.charCodeAt(0) + i));
    if (panel.kind !== 'timeseries') query.instant();
    if (panel.kind === 'table') query.format(PromQueryFormat.Table);
    builder.withTarget(query);
  }
  return builder.build();
}

function builderOf({ kind, unit, stacked }: PanelSpec): StatBuilder | TableBuilder | TimeSeriesBuilder {
  if (kind === 'stat') return new StatBuilder().unit(unit);
  if (kind === 'table') return new TableBuilder().unit(unit);
  const builder = new TimeSeriesBuilder()
    .unit(unit)
    .fillOpacity(stacked ? 30 : 5)
    .min(0)
    .legend(
      new VizLegendOptionsBuilder()
        .showLegend(true)
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom),
    );
  return stacked ? builder.stacking(new StackingConfigBuilder().mode(StackingMode.Normal)) : builder;
}
