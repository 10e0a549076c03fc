import { readFileSync } from 'node:fs';
import type { TestProcess } from '../helpers/gateway.js';

/** Resident memory of a process over time, in MB. */
export class Memory {
  readonly samples: number[] = [];

  constructor(
    readonly name: string,
    private readonly process: TestProcess,
  ) {}

  sample(): void {
    const status = readFileSync(`/proc/${this.process.child.pid}/status`, 'utf8');
    this.samples.push(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024);
  }

  /** Mean of the second quarter of the run and of the last one: the first is warming up. */
  trend(): { before: number; after: number; peak: number } {
    const quarter = Math.max(1, Math.floor(this.samples.length / 4));
    return {
      before: mean(this.samples.slice(quarter, 2 * quarter)),
      after: mean(this.samples.slice(-quarter)),
      peak: Math.max(...this.samples),
    };
  }
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
