/** uPlot in the page's colours. It draws on a canvas, so what it shows is also said in `label`, and in a table near it. */
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { minute, zoneName } from '../format.js';
import { timeZone } from '../time-zone.js';

export interface Series {
  label: string;
  values: (number | null)[];
}

export interface ChartProps {
  label: string;
  /** Seconds since 1970. */
  times: number[];
  series: Series[];
  kind: 'lines' | 'bars';
  format(value: number): string;
  height?: number;
  /** Numbers of the colours to use; the first ones without it. */
  colours?: readonly number[];
}

export function Chart(props: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const { label, times, series, kind, format, height = 180, colours } = props;
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    let plot: uPlot | undefined;
    const draw = () => {
      plot?.destroy();
      const { options, data } = describe(
        { times, series, kind, format, colours },
        element.clientWidth,
        height,
      );
      plot = new uPlot(options, data, element);
    };
    draw();
    const watcher = new ResizeObserver(() => {
      if (plot && plot.width !== element.clientWidth) draw();
    });
    watcher.observe(element);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    addEventListener('themechange', draw);
    return () => {
      watcher.disconnect();
      dark.removeEventListener('change', draw);
      removeEventListener('themechange', draw);
      plot?.destroy();
    };
  }, [times, series, kind, format, height, colours]);
  return (
    <figure class="chart">
      <div ref={host} role="img" aria-label={label} />
      <figcaption class="legend">
        {series.map((each, i) => (
          <span key={each.label}>
            <i class={`swatch colour-${colourAt(colours, i)}`} />
            {each.label}
          </span>
        ))}
        {kind === 'lines' && <span class="muted zone">{zoneName()}</span>}
      </figcaption>
    </figure>
  );
}

type Drawn = Pick<ChartProps, 'times' | 'series' | 'kind' | 'format' | 'colours'>;

function describe({ times, series, kind, format, colours }: Drawn, width: number, height: number) {
  const isBars = kind === 'bars';
  const stacked = isBars ? stack(series) : series.map(({ values }) => values);
  const text = colour('--muted');
  const grid = { stroke: colour('--line'), width: 1 };
  const axis = { stroke: text, grid, ticks: { show: false }, font: '12px system-ui, sans-serif' };
  const bars = uPlot.paths.bars?.({ size: [0.7, 56], radius: 0.12 });
  const lines = series.map((_, i): uPlot.Series => {
    const stroke = colour(`--chart-${colourAt(colours, i)}`);
    return {
      stroke,
      width: isBars ? 0 : 2,
      points: isBars ? { show: false } : { show: true, size: 6, fill: stroke, filter: alone },
      ...(isBars ? { fill: stroke, ...(bars ? { paths: bars } : {}) } : {}),
    };
  });
  const options: uPlot.Options = {
    width,
    height,
    // Bars are days, which have a zone of their own.
    tzDate: (seconds) => uPlot.tzDate(new Date(Math.round(seconds * 1000)), isBars ? 'Etc/UTC' : timeZone()),
    legend: { show: false },
    cursor: { show: false },
    // The last time on the axis needs room beyond the line.
    padding: [8, 18, 0, 0],
    scales: {
      x: { time: true, ...(isBars ? { range: widen } : {}) },
      // With nothing above zero its ticks would be billionths.
      y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        space: 70,
        ...(isBars ? { values: days } : { values: clock }),
      },
      { ...axis, size: 62, space: 34, values: (_plot, values) => values.map(format) },
    ],
    // The tallest is drawn first, and the others over it.
    series: [{}, ...(isBars ? lines.reverse() : lines)],
  };
  const data: uPlot.AlignedData = [times, ...(isBars ? stacked.reverse() : stacked)];
  return { options, data };
}

/** A line needs two points. One that has no neighbour is drawn as a dot. */
function alone(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? [];
  return Array.from(values, (_, i) => i).filter(
    (i) => values[i] != null && values[i - 1] == null && values[i + 1] == null,
  );
}

function stack(series: Series[]): (number | null)[][] {
  const sums: number[] = [];
  return series.map(({ values }) =>
    values.map((value, i) => {
      sums[i] = (sums[i] ?? 0) + (value ?? 0);
      return sums[i] ?? 0;
    }),
  );
}

/** Half a day or half a month of room on both sides: a bar stands in the middle of it. */
function widen(plot: uPlot, low: number, high: number): [number, number] {
  const [first = 0, second = first + 86_400] = plot.data[0];
  const half = (second - first) / 2;
  return [low - half, high + half];
}

function days(_plot: uPlot, values: number[]): string[] {
  return values.map((value) =>
    value % 86_400 === 0
      ? new Date(value * 1000).toLocaleDateString('en', { day: 'numeric', month: 'short', timeZone: 'UTC' })
      : '',
  );
}

function clock(_plot: uPlot, values: number[]): string[] {
  return values.map((value) => minute(value * 1000));
}

function colourAt(colours: readonly number[] | undefined, i: number): number {
  return colours?.[i] ?? (i % 7) + 1;
}

/** The colour of a custom property in the current theme. */
function colour(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
