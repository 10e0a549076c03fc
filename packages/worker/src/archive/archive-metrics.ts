import type { Metrics } from '@sluice/shared/metrics/create';

export class ArchiveMetrics {
  readonly #written;
  readonly #failures;
  readonly #refused;
  readonly #lag;
  readonly #spilled;
  readonly #behind = new Map<number, number>();
  readonly #entries = new Map<number, number>();

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

  /** The archive is as far behind as the shard that is furthest behind. */
  isBehind(shard: number, ms: number): void {
    this.#behind.set(shard, ms);
    this.#lag.set(Math.max(...this.#behind.values()) / 1000);
  }

  hasSpilled(shard: number, entries: number): void {
    this.#entries.set(shard, entries);
    this.#spilled.set([...this.#entries.values()].reduce((sum, each) => sum + each, 0));
  }
}
