import type { Router } from '@koa/router';
import type { RefusalCount, RefusalReport } from '@sluice/shared/admin-api';
import { refusalsQuery } from '@sluice/shared/contract/query';
import { type CountedRefusals, KEPT_MS, type TurnedAway } from '@sluice/shared/queue/turned-away';
import { type Reason, reasonKind, reasonText } from '@sluice/shared/reasons';
import type { Clock } from '@sluice/shared/redis/clock';
import { seenBy } from '../access/guard.js';
import { iso } from '../http/present.js';
import { readInput } from '../http/read-input.js';
import { readRange } from '../http/read-range.js';

const BUCKETS = 60;
const MINUTE_MS = 60_000;
const MAX_ROWS = 500;

export interface RefusalParts {
  refused: Pick<TurnedAway, 'read'>;
  clock: Clock;
}

/** /refusals: how many requests were refused lately, by workspace, key and reason. */
export function addRefusalRoutes(router: Router, { refused, clock }: RefusalParts): void {
  router.get('/refusals', async (ctx) => {
    const now = Math.floor(clock.now());
    const { workspace, key_id, reason, ...asked } = readInput(refusalsQuery, ctx.query);
    const { since, until } = readRange(asked, now, { standard: '24h', mostMs: KEPT_MS, most: 'two days' });
    const seen = seenBy(ctx);
    const rows = (await refused.read(since, now)).filter(
      (row) =>
        row.minute * MINUTE_MS < until &&
        (!seen || seen.has(row.workspace)) &&
        (workspace === undefined || row.workspace === workspace) &&
        (key_id === undefined || row.keyId === key_id) &&
        (reason === undefined || row.reason === reason),
    );
    const bucketMs = (until - since) / BUCKETS;
    const buckets = Array<number>(BUCKETS).fill(0);
    for (const { minute, requests } of rows) {
      const at = Math.floor((minute * MINUTE_MS - since) / bucketMs);
      const bucket = Math.min(BUCKETS - 1, Math.max(0, at));
      buckets[bucket] = (buckets[bucket] ?? 0) + requests;
    }
    const counts = sumUp(rows);
    ctx.body = {
      object: 'refusals',
      since: iso(since),
      until: iso(until),
      requests: buckets.reduce((sum, count) => sum + count, 0),
      bucket_seconds: bucketMs / 1000,
      buckets,
      data: counts.slice(0, MAX_ROWS),
      has_more: counts.length > MAX_ROWS,
    } satisfies RefusalReport;
  });
}

/** One row for each workspace, key and reason. The rows come by minute. */
function sumUp(rows: readonly CountedRefusals[]): RefusalCount[] {
  const counts = new Map<string, RefusalCount>();
  for (const { minute, workspace, keyId, reason, requests } of rows) {
    const name = JSON.stringify([workspace, keyId, reason]);
    const at = iso(minute * MINUTE_MS);
    const count = counts.get(name);
    if (count) {
      count.requests += requests;
      count.last_at = at;
    } else
      counts.set(name, {
        workspace: workspace || null,
        key_id: keyId || null,
        reason: reason as Reason,
        text: reasonText(reason),
        kind: reasonKind(reason),
        requests,
        first_at: at,
        last_at: at,
      });
  }
  return [...counts.values()].sort((a, b) => b.requests - a.requests);
}
