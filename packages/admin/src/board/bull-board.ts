/** The queues in bull-board. It takes 10 MB, and few people open it. So it is loaded when the board is opened. */
import type * as api from '@bull-board/api';
import type * as bullmq from '@bull-board/api/bullMQAdapter';
import type * as koa from '@bull-board/koa';
import { loadLater } from '@sluice/shared/process/load-later';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { ChatJob } from '@sluice/shared/queue/job';
import type { Middleware } from 'koa';

const loadApi = loadLater<typeof api>('@bull-board/api', import.meta.url);
const loadBullmq = loadLater<typeof bullmq>('@bull-board/api/bullMQAdapter', import.meta.url);
const loadKoa = loadLater<typeof koa>('@bull-board/koa', import.meta.url);

export interface BullBoard {
  serve: Middleware;
  show(providers: readonly string[]): void;
}

export function openBullBoard(basePath: string, queues: readonly ChatQueue[]): BullBoard {
  const { KoaAdapter } = loadKoa();
  const { createBullBoard } = loadApi();
  const { BullMQAdapter } = loadBullmq();
  const server = new KoaAdapter();
  server.setBasePath(basePath);
  const { setQueues } = createBullBoard({
    queues: [],
    serverAdapter: server,
    options: {
      uiConfig: {
        boardTitle: 'Sluice',
        environment: undefined,
        miscLinks: [{ text: 'Console', url: '/' }],
        hideRedisDetails: true,
      },
    },
  });
  // The error is passed on, to be answered in the same place as all others.
  server.setErrorHandler((error) => {
    throw error;
  });
  return {
    serve: server.registerPlugin() as unknown as Middleware,
    show: (providers) =>
      setQueues(
        queues.flatMap((queue, shard) =>
          providers.map((provider) =>
            hidePrompts(
              new BullMQAdapter(queue.of(provider), {
                readOnlyMode: true,
                // The board knows a queue by its name.
                ...(shard === 0 ? {} : { prefix: `shard ${shard}: ` }),
              }),
            ),
          ),
        ),
      ),
  };
}

function hidePrompts(adapter: bullmq.BullMQAdapter): bullmq.BullMQAdapter {
  adapter.setFormatter('data', shown);
  adapter.setFormatter('returnValue', () => null);
  adapter.setFormatter('progress', () => 0);
  return adapter;
}

/** The fields of a job that the board shows. The prompt is encrypted in another field and is not shown. */
function shown({ requestId, workspace, route, model, chain, entry }: Partial<ChatJob>): object {
  return {
    request: `req_${requestId}`,
    ...(workspace === undefined ? {} : { workspace, route, model, entry: chain?.[entry ?? 0] }),
  };
}
