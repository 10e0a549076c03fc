/** Draws a dashboard's panels as SVG. A stand-in for Grafana: the same queries, simpler pictures. */
import type { DashboardSpec, PanelSpec } from '@sluice/observability/dashboards/panels';

export interface Drawn {
  legend: string;
  /** Time in seconds, and value. One point for a panel that shows a number. */
  points: [number, number][];
}

/** From and to, in seconds. */
export type Range = [number, number];

const WIDTH = 1200;
const COLUMNS = 24;
const HEIGHT = { timeseries: 250, stat: 100, table: 250 };
const COLOURS = ['#3274d9', '#e0752d', '#299c46', '#8f3bb8', '#c4162a', '#e5ac0e', '#0f8b8d', '#7c7c7c'];
const MAX_SERIES = 8;

export function renderDashboard(
  spec: DashboardSpec,
  data: ReadonlyMap<PanelSpec, Drawn[]>,
  range: Range,
): string {
  let [x, y, rowHeight] = [0, 50, 0];
  const parts: string[] = [];
  for (const panel of spec.panels) {
    const width = (panel.width / COLUMNS) * WIDTH;
    if (x + width > WIDTH + 1) [x, y, rowHeight] = [0, y + rowHeight, 0];
    const height = HEIGHT[panel.kind];
    parts.push(
      `<g transform="translate(${x + 4},${y + 4})">${drawPanel(panel, data.get(panel) ?? [], range, width - 8, height - 8)}</g>`,
    );
    x += width;
    rowHeight = Math.max(rowHeight, height);
  }
  const height = y + rowHeight;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">
<rect width="${WIDTH}" height="${height}" fill="#f4f5f5"/>
<text x="10" y="22" font-size="18" font-weight="bold">${escapeText(spec.title)}</text>
<text x="10" y="40" fill="#666">Drawn by test/pictures from the data of a simulated load run; not a picture of Grafana.</text>
${parts.join('\n')}
</svg>
`;
}

function drawPanel(panel: PanelSpec, series: Drawn[], range: Range, width: number, height: number): string {
  const frame =
    `<rect width="${width}" height="${height}" rx="3" fill="#fff" stroke="#d8d9da"/>` +
    `<text x="8" y="18" font-size="13" font-weight="bold">${escapeText(panel.title)}</text>`;
  if (panel.kind === 'stat') {
    const value = series[0]?.points.at(-1)?.[1] ?? 0;
    return `${frame}<text x="${width / 2}" y="65" text-anchor="middle" font-size="28" fill="#299c46">${format(value, panel.unit)}</text>`;
  }
  const ordered = [...series].sort((a, b) => lastOf(b) - lastOf(a));
  if (panel.kind === 'table') {
    const rows = ordered
      .slice(0, 12)
      .map(
        (row, i) =>
          `<text x="8" y="${42 + i * 16}">${escapeText(row.legend)}</text>` +
          `<text x="${width - 8}" y="${42 + i * 16}" text-anchor="end">${format(lastOf(row), panel.unit)}</text>`,
      );
    return frame + rows.join('');
  }
  return frame + drawLines(panel, ordered.slice(0, MAX_SERIES), range, width, height);
}

function drawLines(panel: PanelSpec, series: Drawn[], range: Range, width: number, height: number): string {
  const legendRows = Math.ceil(series.length / 3);
  const box = { left: 60, right: width - 10, top: 30, bottom: height - 26 - legendRows * 14 };
  const points = series.flatMap((each) => each.points);
  const [from, to] = range;
  const top = Math.max(...points.map(([, value]) => value).filter(Number.isFinite), 0) * 1.1 || 1;
  const toX = (time: number) => box.left + ((time - from) / Math.max(1, to - from)) * (box.right - box.left);
  const toY = (value: number) => box.bottom - (value / top) * (box.bottom - box.top);
  const grid = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const value = part * top;
    return (
      `<line x1="${box.left}" x2="${box.right}" y1="${round(toY(value))}" y2="${round(toY(value))}" stroke="#eee"/>` +
      `<text x="${box.left - 5}" y="${round(toY(value) + 4)}" text-anchor="end" fill="#666">${format(value, panel.unit)}</text>`
    );
  });
  const clock = [from, (from + to) / 2, to].map(
    (time) =>
      `<text x="${round(toX(time))}" y="${box.bottom + 14}" text-anchor="middle" fill="#666">${Math.round(time - from)} s</text>`,
  );
  const lines = series.map(({ points }, i) => {
    const path = points
      .filter(([, value]) => Number.isFinite(value))
      .map(([time, value]) => `${round(toX(time))},${round(toY(value))}`)
      .join(' ');
    return `<polyline points="${path}" fill="none" stroke="${COLOURS[i]}" stroke-width="1.6"/>`;
  });
  const legend = series.map(({ legend }, i) => {
    const x = 10 + (i % 3) * ((width - 20) / 3);
    const y = box.bottom + 30 + Math.floor(i / 3) * 14;
    return `<rect x="${round(x)}" y="${y - 7}" width="10" height="4" fill="${COLOURS[i]}"/><text x="${round(x + 14)}" y="${y}">${escapeText(legend)}</text>`;
  });
  return [...grid, ...clock, ...lines, ...legend].join('');
}

const lastOf = ({ points }: Drawn) => points.findLast(([, value]) => Number.isFinite(value))?.[1] ?? 0;
const round = (value: number) => Math.round(value * 10) / 10;

function format(value: number, unit: string): string {
  const short = (scaled: number) => String(Number(scaled.toPrecision(3)));
  if (unit === 'currencyUSD') return `$${short(value)}`;
  if (unit === 'percentunit') return `${short(value * 100)} %`;
  if (unit === 's') return value < 1 ? `${short(value * 1000)} ms` : `${short(value)} s`;
  if (unit === 'bytes') return `${short(value / 1024 / 1024)} MiB`;
  if (unit === 'reqps') return `${short(value)}/s`;
  return short(value);
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
