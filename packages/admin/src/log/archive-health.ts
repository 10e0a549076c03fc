/** Whether the archive can be read, and if not, why. The log of the process says when that changes. */
import { explainFailure } from '@sluice/shared/archive/explain';
import type { Logger } from '@sluice/shared/process/logger';

const ABOUT = { chore: 'reading the archive' };

export class ArchiveHealth {
  #problem: string | undefined;

  constructor(private readonly logger: Logger | undefined) {}

  /** A sentence. Undefined: the latest question was answered. */
  get problem(): string | undefined {
    return this.#problem;
  }

  failed(error: unknown): string {
    const problem = explainFailure(error);
    if (problem !== this.#problem) this.logger?.warn({ ...ABOUT, error: String(error) }, problem);
    this.#problem = problem;
    return problem;
  }

  worked(): void {
    if (this.#problem !== undefined) this.logger?.info(ABOUT, 'this works again');
    this.#problem = undefined;
  }
}
