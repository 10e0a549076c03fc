/**
 * Chores are what a process does again and again beside its work. Each runs apart from the others, so that one that fails
 * or hangs does not stop them. A process whose essential chores fail cannot do its work and is not ready.
 */

import { FailureLog } from './failure-log.js';
import type { Logger } from './logger.js';
import { type Period, type RepeatedTask, repeatEvery } from './repeat-every.js';

/** What a disk says when it is full, over its quota, broken or not to be written to. */
const DISK_CODES = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EROFS']);

/** One failure may pass by itself. This many in a row are reported. */
const FAILURES_IN_A_ROW = 2;

interface Chore {
  name: string;
  essential: boolean;
  failureLog: FailureLog;
  /** What the disk said when the chore last failed, if that was it. */
  diskCode?: string | undefined;
  task: RepeatedTask;
}

export class Chores {
  readonly #chores: Chore[] = [];

  constructor(private readonly logger: Logger) {}

  every(period: Period, name: string, work: () => Promise<unknown>, essential = true): void {
    const failureLog = new FailureLog(this.logger, { chore: name });
    let failures = 0;
    const task = repeatEvery(period, async () => {
      try {
        await work();
        failures = 0;
        failureLog.worked();
        chore.diskCode = undefined;
      } catch (error) {
        if (++failures >= FAILURES_IN_A_ROW) failureLog.failed(error);
        const code = error instanceof Error && 'code' in error ? String(error.code) : '';
        chore.diskCode = DISK_CODES.has(code) ? code : undefined;
      }
    });
    const chore: Chore = { name, essential, failureLog, task };
    this.#chores.push(chore);
  }

  /** The chores that cannot write to a disk of this process. */
  get diskProblems(): string[] {
    return this.#chores.flatMap(({ name, diskCode }) =>
      diskCode === undefined ? [] : [`${name}: the disk cannot be written (${diskCode})`],
    );
  }

  /** The names of the essential chores that fail now. */
  get failing(): string[] {
    return this.#chores
      .filter(({ essential, failureLog }) => essential && failureLog.lasts)
      .map(({ name }) => name);
  }

  stop(): void {
    for (const { task } of this.#chores) task.stop();
  }
}
