/**
 * The processor's time, in milliseconds. Unlike the time of a clock, it does not pass while the machine stops or runs other
 * programs.
 */
interface CpuClocks {
  cpuUsage(): NodeJS.CpuUsage;
  /** Node has it from 23.9 on. */
  threadCpuUsage?(): NodeJS.CpuUsage;
}

/** What all threads of this process have used. */
export function processMs(clocks: CpuClocks = process): number {
  return toMs(clocks.cpuUsage());
}

/** What this thread has used, or the whole process where Node does not tell them apart. */
export function threadMs(clocks: CpuClocks = process): number {
  return toMs(clocks.threadCpuUsage?.() ?? clocks.cpuUsage());
}

function toMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000;
}
