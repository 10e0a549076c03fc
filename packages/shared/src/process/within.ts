/** Waits for the work, but no longer than this: closing must not hang on a Redis that is gone. A failure is no matter. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), timeUp]);
  clearTimeout(timer);
}
