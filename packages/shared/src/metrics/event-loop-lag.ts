/**
 * How late timers are. prom-client's own metrics of these names wake an idle process more often than everything else
 * together, and count the time between two looks as lag. These look ten times a second while the process works and every two
 * seconds while it does not, and say the lag alone.
 */
import { createHistogram, performance } from 'node:perf_hooks';
import { Gauge, type Registry } from 'prom-client';

const LOOK_EVERY_MS = 100;
const IDLE_LOOK_EVERY_MS = 2_000;
/** A process that worked for less of the time between two looks is idle. */
const IDLE_BELOW = 0.05;

/** For prom-client's own: as good as never. */
export const SELDOM_MS = 3_600_000;

/** In the place of those that the registry has. Each scrape begins anew. */
export function collectEventLoopLag(registry: Registry): void {
  const delays = createHistogram();
  let before = performance.eventLoopUtilization();
  const look = (due: number) => {
    const { utilization } = performance.eventLoopUtilization(before);
    before = performance.eventLoopUtilization();
    delays.record(Math.max(1, Math.round((performance.now() - due) * 1e6)));
    wait(utilization < IDLE_BELOW ? IDLE_LOOK_EVERY_MS : LOOK_EVERY_MS);
  };
  const wait = (ms: number) => {
    // Idle processes look in the tick in which their chores begin (repeat-every.ts).
    const left = ms === IDLE_LOOK_EVERY_MS ? ms - (performance.now() % ms) : ms;
    setTimeout(look, left, performance.now() + left).unref();
  };
  wait(LOOK_EVERY_MS);
  const read: [name: string, value: () => number][] = [
    ['min', () => delays.min],
    ['max', () => delays.max],
    ['mean', () => delays.mean],
    ['stddev', () => delays.stddev],
    ['p50', () => delays.percentile(50)],
    ['p90', () => delays.percentile(90)],
    ['p99', () => delays.percentile(99)],
  ];
  const gauges = read.map(([part], i) => {
    const name = `nodejs_eventloop_lag_${part}_seconds`;
    registry.removeSingleMetric(name);
    const help = `How late timers were since the last scrape: ${part}.`;
    // The first one reads them all, because the next scrape is to begin anew.
    return new Gauge({ name, help, registers: [registry], ...(i === 0 && { collect: readAll }) });
  });
  function readAll(): void {
    for (const [i, [, value]] of read.entries()) gauges[i]?.set(delays.count === 0 ? 0 : value() / 1e9);
    delays.reset();
  }
}
