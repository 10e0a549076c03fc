/**
 * Watches how many of its file descriptors this process has open. Without a free one the system resets new connections
 * before the process hears of them, so nothing else would show it. Without /proc the numbers are not known.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Logger } from './logger.js';
import { type RepeatedTask, repeatEvery } from './repeat-every.js';

const LOOK_EVERY_MS = 1_000;
/** While not even half of them are open. */
const CALM_LOOK_EVERY_MS = 6_000;
const CALM_BELOW = 0.5;
/** The process reports a shortage above the first share, until the use falls below the second. */
const SHORT_FROM = 0.9;
const SHORT_UNTIL = 0.8;

export class DescriptorWatch {
  /** Infinite when the limit is not known. Somebody may change the limit while the process runs. */
  limit = readLimit();
  readonly #looking: RepeatedTask;
  #problem: string | undefined;
  #isCalm = false;

  constructor(private readonly logger: Logger) {
    this.#looking = repeatEvery(
      () => (this.#isCalm ? CALM_LOOK_EVERY_MS : LOOK_EVERY_MS),
      async () => this.look(),
    );
  }

  problems(): string[] {
    return this.#problem === undefined ? [] : [this.#problem];
  }

  close(): void {
    this.#looking.stop();
  }

  look(limit = readLimit(), open = countOpen(limit)): void {
    this.limit = limit;
    this.#isCalm = open < CALM_BELOW * limit;
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
    // Reading the directory takes a descriptor too.
    return limit;
  }
}
