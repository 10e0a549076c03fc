/**
 * The metrics of one process, made from the table. The registry gets every metric once, at the start. What must be read for a
 * scrape registers with `onScrape`, and stays for the life of the process.
 */
import { readFileSync } from 'node:fs';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { METRICS, type MetricDefinition, type MetricKey, type ProcessRole } from './definitions.js';
import { QuickCounter, QuickHistogram } from './quick.js';

type KeyOf<Type extends MetricDefinition['type']> = {
  [K in MetricKey]: (typeof METRICS)[K]['type'] extends Type ? K : never;
}[MetricKey];
type LabelsOf<K extends MetricKey> = (typeof METRICS)[K]['labels'][number];

/** It throws for a metric that the process's role does not have. */
export class Metrics {
  readonly registry = new Registry();
  readonly #collectors: (() => Promise<void>)[] = [];
  readonly #quick: { give(): void }[] = [];

  constructor(readonly role: ProcessRole) {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    this.gauge('buildInfo').set({ version, role }, 1);
  }

  counter<K extends KeyOf<'counter'>>(key: K): Counter<LabelsOf<K>> {
    return new Counter<LabelsOf<K>>(this.#config(key));
  }

  gauge<K extends KeyOf<'gauge'>>(key: K): Gauge<LabelsOf<K>> {
    return new Gauge<LabelsOf<K>>(this.#config(key));
  }

  histogram<K extends KeyOf<'histogram'>>(key: K): Histogram<LabelsOf<K>> {
    return new Histogram<LabelsOf<K>>({ ...this.#config(key), buckets: [...METRICS[key].buckets] });
  }

  /** For what every request counts. */
  quickCounter(key: KeyOf<'counter'>): QuickCounter {
    const quick = new QuickCounter(this.counter(key), METRICS[key].labels);
    this.#quick.push(quick);
    return quick;
  }

  quickHistogram(key: KeyOf<'histogram'>): QuickHistogram {
    const quick = new QuickHistogram(this.histogram(key), METRICS[key].labels);
    this.#quick.push(quick);
    return quick;
  }

  /** `collect` runs before every scrape. It must not throw. */
  onScrape(collect: () => Promise<void>): void {
    this.#collectors.push(collect);
  }

  async text(): Promise<string> {
    await Promise.all(this.#collectors.map((collect) => collect()));
    for (const quick of this.#quick) quick.give();
    return this.registry.metrics();
  }

  #config<K extends MetricKey>(key: K) {
    const { name, help, labels, roles }: MetricDefinition = METRICS[key];
    if (!roles.includes(this.role)) throw new Error(`${name} is no metric of the ${this.role}`);
    return { name, help, labelNames: [...labels] as LabelsOf<K>[], registers: [this.registry] };
  }
}
