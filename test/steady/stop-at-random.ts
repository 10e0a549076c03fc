/** Stops one process of a family at a time, as a busy machine does: for up to five seconds, about every seven. */
import { readFileSync } from 'node:fs';

const EVERY_MS = 7_000;
const LONGEST_MS = 5_000;

export function stopAtRandom(ancestor: number): { end(): number } {
  let stops = 0;
  let stopped: number | undefined;
  const goOn = () => {
    if (stopped !== undefined) signal(stopped, 'SIGCONT');
    stopped = undefined;
  };
  const timer = setInterval(() => {
    goOn();
    // A test may have stopped one itself, and that one has to stay so.
    const children = descendants(ancestor).filter((pid) => !isStopped(pid));
    const chosen = children[Math.floor(Math.random() * children.length)];
    if (chosen === undefined || !signal(chosen, 'SIGSTOP')) return;
    stops++;
    stopped = chosen;
    setTimeout(goOn, Math.random() * LONGEST_MS);
  }, EVERY_MS);
  return {
    end() {
      clearInterval(timer);
      goOn();
      return stops;
    },
  };
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

function isStopped(pid: number): boolean {
  try {
    return /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}

function descendants(pid: number): number[] {
  let children: string;
  try {
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  } catch {
    return [];
  }
  return children
    .split(' ')
    .filter(Boolean)
    .map(Number)
    .flatMap((child) => [child, ...descendants(child)]);
}
