import type { Metrics } from '@sluice/shared/metrics/create';

export class ArchiveMetrics {
  readonly #written;
  readonly #failures;
  readonly #refused;
  readonly #lag;
  readonly #spilled;

  constructor(metrics: Metrics) {
    this.#written = metrics.counter('archiveWritten');
    this.#failures = metrics.counter('archiveFailures');
    this.#refused = metrics.counter('archiveRefused');
    this.#lag = metrics.gauge('archiveLag');
    this.#spilled = metrics.gauge('archiveSpilled');
  }

  wrote(entries: number): void {
    this.#written.inc(entries);
  }

  failed(): void {
    this.#failures.inc();
  }

  refused(): void {
    this.#refused.inc();
  }

  isBehind(ms: number): void {
    this.#lag.set(ms / 1000);
  }

  hasSpilled(entries: number): void {
    this.#spilled.set(entries);
  }
}
