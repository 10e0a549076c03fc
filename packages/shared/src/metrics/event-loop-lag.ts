/**
 * How late timers are. prom-client's own metrics of these names wake an idle process more often than everything else
 * together, and count the time between two looks as lag. These look ten times a second, and say the lag alone.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Gauge, type Registry } from 'prom-client';

const LOOK_EVERY_MS = 100;

/** For prom-client's own: as good as never. */
export const SELDOM_MS = 3_600_000;

/** In the place of those that the registry has. Each scrape begins anew. */
export function collectEventLoopLag(registry: Registry): void {
  const delays = monitorEventLoopDelay({ resolution: LOOK_EVERY_MS });
  delays.enable();
  const lag = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - LOOK_EVERY_MS / 1e3);
  const read: [name: string, value: () => number][] = [
    ['min', () => lag(delays.min)],
    ['max', () => lag(delays.max)],
    ['mean', () => lag(delays.mean)],
    ['stddev', () => delays.stddev / 1e9],
    ['p50', () => lag(delays.percentile(50))],
    ['p90', () => lag(delays.percentile(90))],
    ['p99', () => lag(delays.percentile(99))],
  ];
  const gauges = read.map(([part], i) => {
    const name = `nodejs_eventloop_lag_${part}_seconds`;
    registry.removeSingleMetric(name);
    const help = `How late timers were since the last scrape: ${part}.`;
    // The first one reads them all, because the next scrape is to begin anew.
    return new Gauge({ name, help, registers: [registry], ...(i === 0 && { collect: readAll }) });
  });
  function readAll(): void {
    for (const [i, [, value]] of read.entries()) gauges[i]?.set(delays.count === 0 ? 0 : value());
    delays.reset();
  }
}
