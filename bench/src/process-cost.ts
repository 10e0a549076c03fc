/** What processes cost, from /proc: all their threads, and the processes that they started. */
import { readFileSync } from 'node:fs';

/** USER_HZ, which is 100 on every Linux that Node runs on. */
const US_PER_TICK = 10_000;
const KB_PER_MB = 1024;

export interface Measured {
  /** `api`, `worker`, `redis`, …; several processes of one name are counted together. */
  name: string;
  pid: number;
}

/** Microseconds of CPU so far, by name. */
export function cpuOf(processes: readonly Measured[]): Map<string, number> {
  const cpu = new Map<string, number>();
  for (const { name, pid } of processes) {
    const used = family(pid).reduce((sum, member) => sum + cpuUs(member), 0);
    cpu.set(name, (cpu.get(name) ?? 0) + used);
  }
  return cpu;
}

/** Resident megabytes by name; of several processes of one name, the largest. */
export function residentOf(processes: readonly Measured[]): Record<string, number> {
  const resident: Record<string, number> = {};
  for (const { name, pid } of processes) {
    const used = family(pid).reduce((sum, member) => sum + residentMb(member), 0);
    resident[name] = Math.max(resident[name] ?? 0, used);
  }
  return resident;
}

function cpuUs(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  // The name in parentheses may hold anything; utime and stime are the 12th and 13th field after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * US_PER_TICK;
}

function residentMb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / KB_PER_MB;
}

function family(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(family)];
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
