/** The chart library is by far the largest file: it comes after the page that wants it. */
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ChartProps } from './chart.js';

let loaded: FunctionComponent<ChartProps> | undefined;

export function LazyChart(props: ChartProps) {
  const [state, setState] = useState<'loading' | 'ready' | 'failed'>(loaded ? 'ready' : 'loading');
  useEffect(() => {
    if (loaded) return;
    import('./chart.js').then(
      (module) => {
        loaded = module.Chart;
        setState('ready');
      },
      () => setState('failed'),
    );
  }, []);
  const Chart = loaded;
  if (Chart) return <Chart {...props} />;
  return (
    <div class="chart-space muted" role="status">
      {state === 'failed' ? 'The chart could not be loaded. Reload the page to try again.' : 'Loading …'}
    </div>
  );
}
