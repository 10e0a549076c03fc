/**
 * bull-board shows the queues as BullMQ's own tools see them. It is read-only: only GET requests reach it, so that its paths
 * and those of the admin api (POST /queues/{provider}/pause) do not collide.
 */
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { KoaAdapter } from '@bull-board/koa';
import type { Directory } from '@sluice/shared/directory/directory';
import type { ChatJob } from '@sluice/shared/queue/job';
import type { Queues } from '@sluice/shared/queue/queues';
import type { Middleware } from 'koa';
import { createGuard } from './access/guard.js';
import { permissionOf } from './access/permissions.js';

const BASE = '/queues';
/** bull-board's page has inline styles and a base address for its files. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "font-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'self'",
  "form-action 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};

/** The policy forbids files from other hosts. Without these links the browser does not even try to load them. */
const FOREIGN_STYLES = /<link [^>]*href="https:[^>]*>/g;
const HASHED_FILE = /^\/queues\/static\/(?:js|css)\//;

/** `providers` has the providers that are configured at the time. */
export function createQueueBoard(
  queues: Queues,
  providers: ReadonlyMap<string, unknown>,
  directory: Directory,
): Middleware {
  const guard = createGuard(permissionOf('GET /queues'), directory);
  const server = new KoaAdapter();
  server.setBasePath(BASE);
  let shownProviders = '';
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
  const board = server.registerPlugin() as unknown as Middleware;
  return async (ctx, next) => {
    const isBoard = ctx.path === BASE || ctx.path.startsWith(`${BASE}/`);
    if (!isBoard || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next();
    const names = [...providers.keys()];
    if (names.join() !== shownProviders) {
      shownProviders = names.join();
      setQueues(names.map((provider) => adapterOf(queues, provider)));
    }
    ctx.set(HEADERS);
    if (HASHED_FILE.test(ctx.path)) ctx.set('cache-control', 'private, max-age=86400');
    await guard(ctx, () => board(ctx, async () => {}));
    if (typeof ctx.body === 'string') ctx.body = ctx.body.replaceAll(FOREIGN_STYLES, '');
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
