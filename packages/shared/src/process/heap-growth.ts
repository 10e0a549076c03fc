/**
 * Decides how much garbage V8 gathers before it looks through the whole heap, in percent of what was in use the last time.
 *
 * V8 derives this from the largest heap that is allowed. With the heap of a container of 512 MB it takes 35 %: prompts of
 * 100 KB then cause a collection every tenth of a second, and need 1.8 times the CPU. With 2 GB and more it takes up to
 * 300 %: a process with thousands of waiting callers then has twice the memory that it uses.
 *
 * Here the time between two collections decides. Each takes some 10 to 40 ms.
 */
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

const LEAST_PERCENT = 30;
const MOST_PERCENT = 300;
const STEP = 1.5;
/** Collections that come more often than this get more garbage at a time. */
const OFTEN_MS = 1_000;
/** Collections that come more rarely than this get less. */
const RARE_MS = 4_000;
/** The garbage takes at most this share of the largest heap, because buffers take memory beside the heap. */
const MOST_SHARE = 0.25;

export function adjustHeapGrowth(oftenMs = OFTEN_MS): void {
  let percent = LEAST_PERCENT;
  let lastAt = performance.now();
  const apply = () => setFlagsFromString(`--heap-growing-percent=${Math.round(percent)}`);
  apply();
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (!isMajor(entry)) continue;
      const { used_heap_size, external_memory, heap_size_limit } = getHeapStatistics();
      const most = (100 * MOST_SHARE * heap_size_limit) / (used_heap_size + external_memory);
      percent = nextGrowth(percent, entry.startTime - lastAt, most, oftenMs);
      lastAt = entry.startTime;
      apply();
    }
  });
  observer.observe({ entryTypes: ['gc'] });
}

export function nextGrowth(percent: number, sinceLastMs: number, most: number, oftenMs = OFTEN_MS): number {
  const wanted = sinceLastMs < oftenMs ? percent * STEP : sinceLastMs > RARE_MS ? percent / STEP : percent;
  return Math.max(LEAST_PERCENT, Math.min(wanted, most, MOST_PERCENT));
}

/** The types of Node leave out `detail`. */
function isMajor(entry: PerformanceEntry & { detail?: { kind?: number } }): boolean {
  return entry.detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
