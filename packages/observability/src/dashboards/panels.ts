/** What a dashboard is made of, and how it becomes Grafana's JSON. */
import { StackingConfigBuilder, StackingMode } from '@grafana/grafana-foundation-sdk/common';
import {
  DashboardBuilder,
  type Panel,
  QueryVariableBuilder,
  VariableRefresh,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as TimeSeriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';

export interface Query {
  expr: string;
  legend: string;
}

export interface PanelSpec {
  title: string;
  /** What a person should read from it. */
  about: string;
  kind: 'timeseries' | 'stat' | 'table';
  /** One of Grafana's units. */
  unit: string;
  queries: Query[];
  /** Of 24. */
  width: number;
  stacked?: boolean;
  /** Instead of the dashboard's time range. */
  timeFrom?: string;
}

export interface DashboardSpec {
  /** Also the name of its file. */
  uid: string;
  title: string;
  about: string;
  panels: PanelSpec[];
}

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
    .withVariable(
      new QueryVariableBuilder('workspace')
        .label('Workspace')
        .datasource(DATASOURCE)
        .query('label_values(gateway_cost_usd_total, workspace)')
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
    .min(0);
  return stacked ? builder.stacking(new StackingConfigBuilder().mode(StackingMode.Normal)) : builder;
}
