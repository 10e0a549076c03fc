/** The queues in bull-board. Only queue-board.ts loads this file, and only when somebody opens the page. */
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { KoaAdapter } from '@bull-board/koa';
import type { ChatJob } from '@sluice/shared/queue/job';
import type { Queues } from '@sluice/shared/queue/queues';
import type { Middleware } from 'koa';

export interface BullBoard {
  serve: Middleware;
  show(providers: readonly string[]): void;
}

export function openBullBoard(basePath: string, queues: Queues): BullBoard {
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
    show: (providers) => setQueues(providers.map((provider) => adapterOf(queues, provider))),
  };
}

function adapterOf(queues: Queues, provider: string): BullMQAdapter {
  const adapter = new BullMQAdapter(queues.of(provider), { readOnlyMode: true });
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
