/** A cgroup of its own for a process, with the memory that the shipped manifests give it. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** As in deploy/kubernetes and docker-compose.yml. */
export const SHIPPED_MEMORY_BYTES = 512 * 1024 * 1024;
/** And their flag for Node. */
export const SHIPPED_NODE_OPTIONS = '--max-old-space-size=384';

export interface MemoryLimit {
  /** The most that the process has used. */
  peakBytes(): number;
  /** After the process has ended. */
  remove(): void;
}

const V1 = '/sys/fs/cgroup/memory';
const V2 = '/sys/fs/cgroup';

/**
 * Undefined where no cgroup can be made: not root, or a container without them. What the process has already stays charged
 * to where it was, so that much is taken off the limit.
 */
export function limitMemory(pid: number, bytes = SHIPPED_MEMORY_BYTES): MemoryLimit | undefined {
  const isV1 = existsSync(join(V1, 'memory.limit_in_bytes'));
  const folder = join(isV1 ? V1 : V2, `sluice-hostile-${pid}`);
  const ownBytes = residentBytes(pid);
  const read = (name: string) => Number(readFileSync(join(folder, name), 'utf8'));
  try {
    mkdirSync(folder);
    writeFileSync(join(folder, isV1 ? 'memory.limit_in_bytes' : 'memory.max'), String(bytes - ownBytes));
    writeFileSync(join(folder, 'cgroup.procs'), String(pid));
  } catch {
    return undefined;
  }
  return {
    peakBytes: () => ownBytes + read(isV1 ? 'memory.max_usage_in_bytes' : 'memory.peak'),
    remove: () => rmdirSync(folder),
  };
}

function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
}
