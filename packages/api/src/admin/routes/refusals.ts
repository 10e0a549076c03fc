import type { Router } from '@koa/router';
import type { RefusalCount, RefusalReport } from '@sluice/shared/admin-api';
import { type ConfigReader, isAbsent } from '@sluice/shared/config/reader';
import { type CountedRefusals, KEPT_MS, type TurnedAway } from '@sluice/shared/queue/turned-away';
import { type Reason, reasonKind, reasonText } from '@sluice/shared/reasons';
import type { Clock } from '@sluice/shared/redis/clock';
import { seenBy } from '../access/guard.js';
import { iso } from '../present.js';
import { readInput } from '../read-input.js';
import { readMoment } from '../read-moment.js';

const BUCKETS = 60;
const MINUTE_MS = 60_000;
const DEFAULT_MS = 24 * 3_600_000;
const MAX_ROWS = 500;
const TEXT = { pattern: /^[^\p{Cc}]{1,256}$/u, allowed: 'a text of 1 to 256 characters' };
const FILTERS = ['workspace', 'key_id', 'reason'] as const;

export interface RefusalParts {
  refused: Pick<TurnedAway, 'read'>;
  clock: Clock;
}

/** /refusals: how many requests were refused lately, by workspace, key and reason. */
export function addRefusalRoutes(router: Router, { refused, clock }: RefusalParts): void {
  router.get('/refusals', async (ctx) => {
    const now = Math.floor(clock.now());
    const { since, workspace, key_id, reason } = readInput((reader) => {
      const query = reader.fields(ctx.query, '', ['since', ...FILTERS]);
      const moment = readMoment(reader, query?.since, 'since', now) ?? now - DEFAULT_MS;
      if (!(now - moment >= MINUTE_MS && now - moment <= KEPT_MS))
        reader.mistake('since', 'must be from a minute to two days ago');
      const [workspace, key_id, reason] = FILTERS.map((name) => readText(reader, query?.[name], name));
      return { since: moment, workspace, key_id, reason };
    });
    const seen = seenBy(ctx);
    const rows = (await refused.read(since, now)).filter(
      (row) =>
        (!seen || seen.has(row.workspace)) &&
        (workspace === undefined || row.workspace === workspace) &&
        (key_id === undefined || row.keyId === key_id) &&
        (reason === undefined || row.reason === reason),
    );
    const bucketMs = (now - since) / BUCKETS;
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
      until: iso(now),
      requests: buckets.reduce((sum, count) => sum + count, 0),
      bucket_seconds: bucketMs / 1000,
      buckets,
      data: counts.slice(0, MAX_ROWS),
      has_more: counts.length > MAX_ROWS,
    } satisfies RefusalReport;
  });
}

function readText(reader: ConfigReader, value: unknown, name: string): string | undefined {
  return isAbsent(value) ? undefined : reader.text(value, name, TEXT);
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
