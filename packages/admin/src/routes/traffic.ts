import type { Router } from '@koa/router';
import type { TrafficReport } from '@sluice/shared/admin-api';
import { entriesOf } from '@sluice/shared/contract/chain';
import { trafficQuery } from '@sluice/shared/contract/query';
import type { Clock } from '@sluice/shared/redis/clock';
import { seenBy } from '../access/guard.js';
import type { DirectorySnapshot } from '../directory-snapshot.js';
import { iso, isoOrNull } from '../http/present.js';
import { readInput } from '../http/read-input.js';
import { readRange } from '../http/read-range.js';
import type { TrafficReader } from '../log/traffic-reader.js';

const BUCKETS = 60;

export interface TrafficParts {
  traffic: TrafficReader;
  snapshot: DirectorySnapshot;
  clock: Clock;
}

/** /traffic: how many requests came lately, how fast they were, how many failed, and who served each route. */
export function addTrafficRoutes(router: Router, parts: TrafficParts): void {
  const { snapshot, clock } = parts;
  router.get('/traffic', async (ctx) => {
    const now = Math.floor(clock.now());
    const { since, until } = readRange(readInput(trafficQuery, ctx.query), now);
    const bucketMs = (until - since) / BUCKETS;
    const seen = seenBy(ctx);
    const { traffic, begins } = await parts.traffic.read({
      ...{ since, until, bucketMs, buckets: BUCKETS, workspaces: seen },
    });
    const workspaces = (await snapshot.read()).filter(({ id }) => !seen || seen.has(id));
    ctx.body = {
      object: 'traffic',
      since: iso(since),
      until: iso(until),
      log_begins: isoOrNull(begins),
      requests: traffic.all.requests,
      failed: traffic.all.failed,
      refused: traffic.all.refused,
      cancelled: traffic.all.cancelled,
      fallbacks: traffic.fallbacks,
      duration_ms: traffic.all.durations.present(),
      reasons: traffic.reasons,
      codes: traffic.codes,
      bucket_seconds: bucketMs / 1000,
      buckets: traffic.buckets.map(({ requests, failed, refused, durations }) => ({
        requests,
        failed,
        refused,
        duration_ms: durations.present(),
      })),
      routes: workspaces.flatMap(({ id: workspace, routes }) =>
        [...routes].flatMap(([route, { chain }]) => {
          const { servedBy, durations, ...counts } = traffic.route(workspace, route);
          if (counts.requests === 0) return [];
          const served = entriesOf(chain).map((entry) => servedBy(entry.provider, entry.model));
          return [{ workspace, route, ...counts, served, duration_ms: durations.present() }];
        }),
      ),
    } satisfies TrafficReport;
  });
}
