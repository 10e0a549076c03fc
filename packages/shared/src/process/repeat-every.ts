import { performance } from 'node:perf_hooks';
import { BLOCK_MS } from '../redis/redis.js';

export interface RepeatedTask {
  stop(): void;
}

/** How often work is repeated. It is asked for each time. */
export type Period = number | (() => number);

/** A process that works for less of the time is idle. */
const IDLE_BELOW = 0.05;
const MEASURED_MS = 500;
let before = performance.eventLoopUtilization();
let measuredAt = performance.now();
let isIdle = false;

/**
 * For work whose result changes little while nobody uses the process. Every command costs an idle process the more, because the
 * processor has forgotten the code meanwhile.
 */
export function whileIdle(idleMs: number, otherwiseMs: number): () => number {
  return () => {
    if (performance.now() - measuredAt > MEASURED_MS) {
      isIdle = performance.eventLoopUtilization(before).utilization < IDLE_BELOW;
      before = performance.eventLoopUtilization();
      measuredAt = performance.now();
    }
    return isIdle ? idleMs : otherwiseMs;
  };
}

/**
 * Repeats the work, but never runs it twice at the same time: while Redis is away, work that waits for it must not pile
 * up. After a failure the work is tried again at its next turn.
 *
 * The work of a process with the same period begins in the same tick of the event loop, and its commands leave together. A wake
 * of a process that has nothing to do costs more than most of this work.
 */
export function repeatEvery(period: Period, work: () => Promise<unknown>): RepeatedTask {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const schedule = () => {
    if (stopped) return;
    const ms = typeof period === 'number' ? period : period();
    timer = setTimeout(run, untilTick(ms, ms / 2));
  };
  const run = () => {
    work().then(schedule, schedule);
  };
  schedule();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** How long a command may block: about `BLOCK_MS`, and until a tick in which the process is awake for its chores. */
export function blockMs(): number {
  return untilTick(BLOCK_MS, BLOCK_MS / 4);
}

function untilTick(periodMs: number, leastMs: number): number {
  const left = Math.ceil(periodMs - (performance.now() % periodMs));
  return left < leastMs ? left + periodMs : left;
}
