/**
 * Metrics that every request changes. prom-client looks through all labels each time, which takes longer than the rest of the
 * counting. So they are kept here by the values of their labels, and prom-client gets them before a scrape.
 */
import type { Counter, Histogram } from 'prom-client';

type Labels = Record<string, string>;

/** What is kept for each combination of values, which are in the order of the metric's definition. */
class ByLabels<Row> {
  readonly #rows = new Map<string, { labels: Labels; row: Row }>();

  constructor(
    private readonly names: readonly string[],
    private readonly create: () => Row,
  ) {}

  of(a: string, b: string, c: string, d: string): { labels: Labels; row: Row } {
    const key = `${a}\n${b}\n${c}\n${d}`;
    const known = this.#rows.get(key);
    if (known) return known;
    const values = [a, b, c, d];
    const labels = Object.fromEntries(this.names.map((name, i) => [name, values[i] ?? '']));
    const made = { labels, row: this.create() };
    this.#rows.set(key, made);
    return made;
  }

  all(): Iterable<{ labels: Labels; row: Row }> {
    return this.#rows.values();
  }
}

export class QuickCounter {
  readonly #counts: ByLabels<{ count: number }>;

  constructor(
    private readonly counter: Counter,
    names: readonly string[],
  ) {
    this.#counts = new ByLabels(names, () => ({ count: 0 }));
  }

  /** Adding 0 creates the series. */
  inc(by: number, a: string, b = '', c = '', d = ''): void {
    this.#counts.of(a, b, c, d).row.count += by;
  }

  give(): void {
    for (const { labels, row } of this.#counts.all()) {
      this.counter.inc(labels, row.count);
      row.count = 0;
    }
  }
}

export class QuickHistogram {
  /** So many are given at once, also without a scrape. */
  static readonly MOST_HELD = 256;
  readonly #observed: ByLabels<number[]>;

  constructor(
    private readonly histogram: Histogram,
    names: readonly string[],
  ) {
    this.#observed = new ByLabels<number[]>(names, () => []);
  }

  observe(value: number, a = '', b = ''): void {
    const { labels, row } = this.#observed.of(a, b, '', '');
    row.push(value);
    if (row.length >= QuickHistogram.MOST_HELD) this.#give(labels, row);
  }

  zero(a: string, b = ''): void {
    this.histogram.zero(this.#observed.of(a, b, '', '').labels);
  }

  give(): void {
    for (const { labels, row } of this.#observed.all()) this.#give(labels, row);
  }

  #give(labels: Labels, row: number[]): void {
    for (const value of row) this.histogram.observe(labels, value);
    row.length = 0;
  }
}
