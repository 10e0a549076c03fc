/**
 * How many file descriptors this process has open, of those it may have. Without a free one the system resets new
 * connections before the process hears of them, so nobody else would tell. Where there is no /proc, nothing is known.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Logger } from './logger.js';
import { type RepeatedTask, repeatEvery } from './repeat-every.js';

const LOOK_EVERY_MS = 1_000;
/** The process says that it is short of them from the first part on, until it has as many as the second part free. */
const SHORT_FROM = 0.9;
const SHORT_UNTIL = 0.8;

export class DescriptorWatch {
  /** Infinite when it is not known. It can be changed from outside while the process runs. */
  limit = readLimit();
  readonly #looking: RepeatedTask;
  #problem: string | undefined;

  constructor(private readonly logger: Logger) {
    this.#looking = repeatEvery(LOOK_EVERY_MS, async () => this.look());
  }

  problems(): string[] {
    return this.#problem === undefined ? [] : [this.#problem];
  }

  close(): void {
    this.#looking.stop();
  }

  look(limit = readLimit(), open = countOpen(limit)): void {
    this.limit = limit;
    if (this.#problem === undefined) {
      if (open < SHORT_FROM * limit) return;
      this.logger.error({ open, limit }, 'short of file descriptors: connections may be reset');
    } else if (open < SHORT_UNTIL * limit) {
      this.logger.info({ open, limit }, 'enough file descriptors again');
      this.#problem = undefined;
      return;
    }
    this.#problem = `short of file descriptors (${open} of ${limit} are open)`;
  }
}

function readLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function countOpen(limit: number): number {
  if (limit === Number.POSITIVE_INFINITY) return 0;
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    // Looking takes one, too.
    return limit;
  }
}
