import { Readable } from 'node:stream';
import type { Router } from '@koa/router';
import { type Batch, toBatchView } from '@sluice/api/batches/batch-record';
import { allowSlowBody } from '@sluice/api/http/slow-bodies';
import type { BatchView, List } from '@sluice/shared/admin-api';
import { batchesQuery, quoteQuery } from '@sluice/shared/contract/query';
import { GatewayError } from '@sluice/shared/errors';
import type { Clock } from '@sluice/shared/redis/clock';
import { noteChange } from '../access/audit.js';
import { seenBy } from '../access/guard.js';
import type { DirectorySnapshot } from '../directory-snapshot.js';
import { list } from '../http/present.js';
import { readInput } from '../http/read-input.js';
import type { AdminShards } from '../shards.js';

/** The most batches that are shown, the newest of all workspaces. */
const MOST = 500;

/** A file for a quote that comes more slowly is given up. A minute of it may be a wait for other quotes. */
const MOST_QUOTE_MS = 120_000;

/** Among so many, the newest, a search looks. */
const MOST_SEARCHED = 2_000;

function hasText({ id, input_file_id, metadata }: BatchView, text: string): boolean {
  const words = [id, input_file_id, ...Object.values(metadata ?? {})].join('\n').toLowerCase();
  return words.includes(text.toLowerCase());
}

export interface BatchAdminParts {
  shards: AdminShards;
  config: { files: { maxFileBytes: number } };
  snapshot: DirectorySnapshot;
  clock: Clock;
}

/** /batches: how the batches of all workspaces stand. */
export function addBatchRoutes(router: Router, { shards, config, snapshot, clock }: BatchAdminParts): void {
  const find = async (workspace: string, id: string): Promise<Batch> => {
    const batch = await (await shards.of(workspace)).batches.find(id);
    if (batch?.record.workspace !== workspace) throw new GatewayError('not_found', 'There is no such batch.');
    return batch;
  };

  router.get('/batches', async (ctx) => {
    const { workspace: only, status, search = '' } = readInput(batchesQuery, ctx.query);
    const seen = seenBy(ctx);
    const workspaces = (await snapshot.read()).filter(
      ({ id }) => (!seen || seen.has(id)) && (only === undefined || only === id),
    );
    const newest = await Promise.all(
      workspaces.map(async (workspace) => {
        const { batches } = shards.at(workspace);
        const found = await batches.newest(workspace.id, MOST_SEARCHED);
        return found.map((batch) => ({ ...batch, batches }));
      }),
    );
    const chosen = newest
      .flat()
      .sort((a, b) => b.created - a.created)
      .slice(0, status === undefined && search === '' ? MOST : MOST_SEARCHED);
    const read = await Promise.all(
      shards.all.map(({ batches }) =>
        batches.findAll(chosen.filter((each) => each.batches === batches).map(({ id }) => id)),
      ),
    );
    const found = read
      .flat()
      .sort((a, b) => b.record.created - a.record.created)
      .map(toBatchView)
      .filter((batch) => (status === undefined || batch.status === status) && hasText(batch, search));
    ctx.body = list(found.slice(0, MOST)) satisfies List<BatchView>;
  });

  // The file is the body. It is read as it comes, and nothing of it is kept.
  router.post('/workspaces/:id/batch-quote', async (ctx) => {
    const { endpoint } = readInput(quoteQuery, ctx.query);
    const size = ctx.request.length;
    const { maxFileBytes } = config.files;
    if (size === undefined)
      throw new GatewayError('invalid_request', 'The request must say how long the file is.');
    if (size > maxFileBytes)
      throw new GatewayError('request_too_large', `A file has ${maxFileBytes} bytes at most.`);
    // A file that takes too much work is not read to its end.
    ctx.set('connection', 'close');
    const timer = setTimeout(() => ctx.req.destroy(), MOST_QUOTE_MS);
    // Its body is not read while it waits for its turn.
    const endPatience = allowSlowBody(ctx.req.socket);
    try {
      const { id: workspace = '' } = ctx.params;
      const { quotes } = await shards.of(workspace);
      ctx.body = await quotes.quote({
        ...{ workspace, keyId: '', inputFile: null, bytes: ctx.req, size },
        endpoint: endpoint === '/v1/embeddings' ? 'embeddings' : undefined,
        hasLeft: () => ctx.res.destroyed,
      });
    } finally {
      clearTimeout(timer);
      endPatience();
    }
  });

  router.post('/workspaces/:id/batches/:batch/cancel', async (ctx) => {
    const { id = '', batch = '' } = ctx.params;
    const { state } = await find(id, batch);
    const { batches } = await shards.toChange(id);
    const status = await batches.cancel(batch, { ...state.times, cancelling: clock.now() });
    if (status !== 'cancelling')
      throw new GatewayError('conflict', `A batch that is ${status} cannot be cancelled.`);
    noteChange(ctx, { before: { status: state.status }, after: { status } });
    ctx.body = toBatchView(await find(id, batch));
  });

  router.get('/workspaces/:id/files/:file/content', async (ctx) => {
    const { id = '', file = '' } = ctx.params;
    const { files } = await shards.of(id);
    const record = await files.find(id, file);
    ctx.set('content-type', 'application/jsonl');
    ctx.set('content-disposition', 'attachment');
    ctx.length = record.bytes;
    ctx.body = Readable.from(files.read(record), { objectMode: false });
  });
}
