/** The metrics and the log of `full`. The log lines are made and written, and nobody reads them. */
import { pino } from 'pino';
import { Counter, Histogram } from 'prom-client';

export const log = pino(pino.destination({ dest: '/dev/null', minLength: 8_192, sync: false }));

const labelNames = ['workspace', 'route', 'provider', 'model', 'outcome'] as const;
export const requests = new Counter({ name: 'requests', help: 'Requests.', labelNames });
export const cost = new Counter({ name: 'cost', help: 'Cost in USD.', labelNames });
export const tokens = new Counter({
  name: 'tokens',
  help: 'Tokens.',
  labelNames: [...labelNames, 'kind'] as const,
});
export const latency = new Histogram({
  name: 'latency',
  help: 'Seconds.',
  labelNames,
  buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 40, 60, 120],
});
export const waited = new Histogram({
  name: 'waited',
  help: 'Seconds.',
  labelNames: ['provider'] as const,
  buckets: [0.001, 0.01, 0.1, 1, 10, 60],
});
