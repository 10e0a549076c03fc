/** Processes that this one did not start, or that outlive it, are known by their id alone. */

export function isAlive(pid: number): boolean {
  return send(pid, 0);
}

/** False when the process is gone. */
export function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

export async function untilGone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
}
