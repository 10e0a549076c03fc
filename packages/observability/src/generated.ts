/** Every file that is made from code: its path in the repository, and what is to be in it. */
import { metricsPage } from './metrics-page.js';

export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map([['docs/metrics.md', metricsPage()]]);
}
