import type { LiveConfig } from '../process/live-config.js';
import type { Metrics } from './create.js';

export function publishReloads(live: LiveConfig, metrics: Metrics): void {
  const reloads = metrics.counter('configReloads');
  const faulty = metrics.gauge('configFaulty');
  metrics.onScrape(async () => {
    reloads.reset();
    for (const [result, count] of Object.entries(live.results)) reloads.inc({ result }, count);
    faulty.set(live.warnings.length > 0 ? 1 : 0);
  });
}
