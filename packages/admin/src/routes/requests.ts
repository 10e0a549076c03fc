import { Readable } from 'node:stream';
import type { Router } from '@koa/router';
import type { RequestPage } from '@sluice/shared/admin-api';
import { followQuery, requestsExportQuery, requestsQuery } from '@sluice/shared/contract/query';
import { GatewayError } from '@sluice/shared/errors';
import type { Clock } from '@sluice/shared/redis/clock';
import { seenBy } from '../access/guard.js';
import { CSV_HEAD, toCsvLine } from '../http/csv.js';
import { list } from '../http/present.js';
import { readInput, refuse } from '../http/read-input.js';
import type { LogFollowers } from '../log/follow-log.js';
import { toLogFilter } from '../log/log-filter.js';
import { parseCursor, placeOf, toCursor } from '../log/log-order.js';
import type { LoggedRequest } from '../log/log-reader.js';
import { presentRequest } from '../log/present-request.js';
import type { RequestSearch } from '../log/request-search.js';

/** PostgreSQL is not asked for anything else: it refuses some characters. */
const REQUEST_ID = /^[\w.:-]{1,128}$/;

export interface RequestParts {
  search: RequestSearch;
  followers: LogFollowers;
  clock: Clock;
}

/** /requests: the request log. */
export function addRequestRoutes(router: Router, { search, followers, clock }: RequestParts): void {
  router.get('/requests', async (ctx) => {
    const { limit, before: cursor, sort, ...query } = readInput(requestsQuery, ctx.query);
    const filter = { ...toLogFilter(query, clock.now()), workspaces: seenBy(ctx) };
    const before = cursor === undefined ? undefined : parseCursor(cursor, sort);
    if (cursor !== undefined && !before) refuse('before', `must be a cursor of an answer sorted by ${sort}`);
    const started = performance.now();
    const { requests, hasMore, problem } = await search.page(filter, sort, limit, before);
    ctx.set('server-timing', `log;dur=${(performance.now() - started).toFixed(1)}`);
    const last = requests.at(-1);
    ctx.body = {
      ...list(requests.map(presentRequest)),
      has_more: hasMore,
      next_before: hasMore && last ? toCursor(placeOf(last, sort), sort) : null,
      complete: problem === undefined,
      problem: problem ?? null,
    } satisfies RequestPage;
  });

  router.get('/requests/follow', async (ctx) => {
    const { after, ...query } = readInput(followQuery, ctx.query);
    const filter = { ...toLogFilter(query, clock.now()), workspaces: seenBy(ctx) };
    const left = new AbortController();
    ctx.res.once('close', () => left.abort());
    if (ctx.res.closed) left.abort();
    const batches = followers.follow(filter, after, left.signal);
    // The first batch is empty and comes at once. Until then a refusal can still be an ordinary answer.
    await batches.next();
    ctx.type = 'application/x-ndjson';
    ctx.body = Readable.from(toLines(batches, { first: '\n', idle: '\n' }));
  });

  router.get('/requests/export', async (ctx) => {
    const { format, ...query } = readInput(requestsExportQuery, ctx.query);
    const filter = { ...toLogFilter(query, clock.now()), workspaces: seenBy(ctx) };
    const batches = search.all(filter);
    // What cannot be read is told of by an ordinary answer as long as the file has not begun.
    const { value: first = [] } = await batches.next();
    const isCsv = format === 'csv';
    ctx.type = isCsv ? 'text/csv; charset=utf-8; header=present' : 'application/x-ndjson';
    ctx.set('content-disposition', `attachment; filename="requests.${isCsv ? 'csv' : 'jsonl'}"`);
    const all = startingWith(first, batches);
    ctx.body = Readable.from(
      isCsv
        ? toLines(all, { first: CSV_HEAD, line: (each) => toCsvLine(presentRequest(each)) })
        : toLines(all),
    );
  });

  router.get('/requests/:id', async (ctx) => {
    const id = (ctx.params.id ?? '').replace(/^req_/, '');
    const found = REQUEST_ID.test(id) ? await search.find(id) : undefined;
    const seen = seenBy(ctx);
    if (!found || (seen && !seen.has(found.entry.workspace)))
      throw new GatewayError('not_found', 'The log has no request with this id.');
    ctx.body = presentRequest(found);
  });
}

async function* startingWith<T>(first: T, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  yield first;
  yield* rest;
}

interface LineOptions {
  first?: string;
  /** Sent for an empty batch, as a sign of life. */
  idle?: string;
  line?(request: LoggedRequest): string;
}

async function* toLines(
  batches: AsyncGenerator<LoggedRequest[]>,
  { first = '', idle = '', line = (each) => `${JSON.stringify(presentRequest(each))}\n` }: LineOptions = {},
): AsyncGenerator<string> {
  if (first !== '') yield first;
  for await (const batch of batches) {
    const text = batch.length === 0 ? idle : batch.map(line).join('');
    if (text !== '') yield text;
  }
}
