/** Stops one process of a family at a time, as a busy machine does: for up to five seconds, about every seven. */
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';

const EVERY_MS = 7_000;
const LONGEST_MS = 5_000;
const SIGSTOP_BIT = 1n << BigInt(constants.signals.SIGSTOP - 1);

export function stopAtRandom(ancestor: number): { end(): number } {
  let stops = 0;
  let stopped: number | undefined;
  const goOn = () => {
    if (stopped !== undefined && !wasStoppedAgain(stopped)) signal(stopped, 'SIGCONT');
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
  return /^State:\s+T/m.test(statusOf(pid) ?? 'State: T');
}

/** A test has stopped the process, too. That signal stays pending while the process is stopped, and who sent it lets it go on. */
function wasStoppedAgain(pid: number): boolean {
  const pending = /^ShdPnd:\s+([0-9a-f]+)/m.exec(statusOf(pid) ?? '')?.[1] ?? '0';
  return (BigInt(`0x${pending}`) & SIGSTOP_BIT) !== 0n;
}

function statusOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return undefined;
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
