import type { Logger } from './logger.js';

/** Logs when repeated failures begin and when they end, and nothing in between. */
export class FailureLog {
  #since: number | undefined;

  constructor(
    private readonly logger: Logger,
    /** Fields of both log lines. */
    private readonly about: Record<string, string>,
  ) {}

  get lasts(): boolean {
    return this.#since !== undefined;
  }

  failed(error: unknown): void {
    if (this.#since !== undefined) return;
    this.#since = performance.now();
    this.logger.warn({ ...this.about, error: String(error) }, 'this fails');
  }

  worked(): void {
    if (this.#since === undefined) return;
    const lastedMs = Math.round(performance.now() - this.#since);
    this.#since = undefined;
    this.logger.info({ ...this.about, lastedMs }, 'this works again');
  }
}
