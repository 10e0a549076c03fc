/** The chart library is by far the largest file: it comes after the page that wants it. */
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ChartProps } from './chart.js';

let loaded: FunctionComponent<ChartProps> | undefined;

export function LazyChart(props: ChartProps) {
  const [, setReady] = useState(loaded !== undefined);
  useEffect(() => {
    if (loaded) return;
    import('./chart.js').then(
      (module) => {
        loaded = module.Chart;
        setReady(true);
      },
      // Without it the numbers are still in the table.
      () => {},
    );
  }, []);
  const Chart = loaded;
  return Chart ? <Chart {...props} /> : <div class="chart-space" />;
}
