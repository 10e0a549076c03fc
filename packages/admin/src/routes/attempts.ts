import type { Router } from '@koa/router';
import type { AttemptReport } from '@sluice/shared/admin-api';
import { attemptsQuery } from '@sluice/shared/contract/query';
import type { Clock } from '@sluice/shared/redis/clock';
import { seenBy } from '../access/guard.js';
import { iso } from '../http/present.js';
import { readInput } from '../http/read-input.js';
import { readRange } from '../http/read-range.js';
import { AttemptSums } from '../log/attempt-sums.js';
import type { LogFilter } from '../log/log-filter.js';
import { type Place, placeOf } from '../log/log-order.js';
import type { RequestSearch } from '../log/request-search.js';

const BUCKETS = 30;
const AT_ONCE = 250;
/** Each takes some microseconds to read, and callers wait meanwhile. */
const MAX_REQUESTS = 5_000;

export interface AttemptParts {
  search: RequestSearch;
  clock: Clock;
}

/** /attempts: how fast the entries of a route were, or all providers, how often they failed, and why they were passed over. */
export function addAttemptRoutes(router: Router, { search, clock }: AttemptParts): void {
  router.get('/attempts', async (ctx) => {
    const now = Math.floor(clock.now());
    const { by, workspace, route, ...asked } = readInput(attemptsQuery, ctx.query);
    const { since, until } = readRange(asked, now);
    const bucketMs = (until - since) / BUCKETS;
    const sums = new AttemptSums(since, bucketMs, BUCKETS, by);
    const filter = { since, until, workspace, route, workspaces: seenBy(ctx) };
    const complete = await readNewest(search, filter, sums);
    ctx.body = {
      object: 'attempts',
      since: iso(since),
      until: iso(until),
      requests: sums.requests,
      complete,
      bucket_seconds: bucketMs / 1000,
      entries: sums.present(),
    } satisfies AttemptReport;
  });
}

/** False: there are more requests than were read, or PostgreSQL is away or lacks some. */
async function readNewest(search: RequestSearch, filter: LogFilter, sums: AttemptSums): Promise<boolean> {
  let after: Place | undefined;
  for (let read = 0; read < MAX_REQUESTS; read += AT_ONCE) {
    const { requests, hasMore, problem } = await search.page(filter, 'time', AT_ONCE, after);
    for (const { entry } of requests) sums.add(entry);
    const last = requests.at(-1);
    if (!hasMore || !last) return problem === undefined;
    after = placeOf(last, 'time');
  }
  return false;
}
