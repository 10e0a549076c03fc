export interface RepeatedTask {
  stop(): void;
}

/**
 * Does the work again and again, never twice at the same time: while Redis is away, what waits for it must not pile up. A
 * failure is left to the next time.
 */
export function repeatEvery(ms: number, work: () => Promise<unknown>): RepeatedTask {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const schedule = () => {
    if (!stopped) timer = setTimeout(run, ms);
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
