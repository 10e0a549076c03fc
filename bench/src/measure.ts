import type { Generator, LoadResult, Shot } from './load/load.js';
import { cpuOf, type Measured, residentOf } from './process-cost.js';

export interface Sample extends LoadResult {
  /** Microseconds per answered request, by process. */
  cpuUs: Record<string, number>;
  /** Right after the load. */
  residentMb: Record<string, number>;
}

/** Only the load counts for the CPU; what the servers still do after it belongs to requests that were cut off. */
export async function measure(
  generator: Generator,
  shot: Shot,
  processes: readonly Measured[],
): Promise<Sample> {
  const before = cpuOf(processes);
  const load = await generator.run(shot);
  const after = cpuOf(processes);
  const cpuUs: Record<string, number> = {};
  for (const [name, us] of after) cpuUs[name] = (us - (before.get(name) ?? 0)) / Math.max(1, load.requests);
  return { ...load, cpuUs, residentMb: residentOf(processes) };
}
