/** Waits for the work at most this long, so that closing does not hang when Redis is gone. Failures are ignored. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), timeUp]);
  clearTimeout(timer);
}
