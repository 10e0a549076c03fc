import type { Metrics } from '@sluice/shared/metrics/create';
import type { RedisWatch } from '@sluice/shared/process/redis-watch';
import { WORRIES } from '@sluice/shared/redis/server';

export function publishWorries(metrics: Metrics, watch: RedisWatch): void {
  const gauge = metrics.gauge('redisWorry');
  metrics.onScrape(async () => {
    for (const reason of WORRIES)
      gauge.set({ reason }, watch.worries.some((worry) => worry.reason === reason) ? 1 : 0);
  });
}
