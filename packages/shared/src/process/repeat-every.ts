export interface RepeatedTask {
  stop(): void;
}

/**
 * Repeats the work, but never runs it twice at the same time: while Redis is away, work that waits for it must not pile
 * up. After a failure the work is tried again at its next turn.
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
