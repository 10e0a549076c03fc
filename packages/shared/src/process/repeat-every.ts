export interface RepeatedTask {
  stop(): void;
}

/**
 * Repeats the work, but never runs it twice at the same time: while Redis is away, work that waits for it must not pile
 * up. After a failure the work is tried again at its next turn.
 *
 * The work of a process with the same period begins in the same tick of the event loop, and its commands leave together. A wake
 * of a process that has nothing to do costs more than most of this work.
 */
export function repeatEvery(ms: number, work: () => Promise<unknown>): RepeatedTask {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const schedule = () => {
    if (stopped) return;
    const left = Math.ceil(ms - (performance.now() % ms));
    timer = setTimeout(run, left < ms / 2 ? left + ms : left);
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
