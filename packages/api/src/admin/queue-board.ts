/**
 * bull-board: BullMQ's queues as BullMQ's own tools see them, to look at and not to touch. Only reads pass, so that its
 * paths and those of the admin api (POST /queues/{provider}/pause) do not meet.
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
/** Its page sets styles in the markup, and has an address that its own files are relative to. */
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

/** The policy forbids what is fetched from other hosts; without this line the browser does not even try. */
const FOREIGN_STYLES = /<link [^>]*href="https:[^>]*>/g;
const HASHED_FILE = /^\/queues\/static\/(?:js|css)\//;

/** `providers` are those that are configured at the time. */
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
  // An error is answered where all others are.
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

/** What a job is for. The prompt lies in a field of its own and is encrypted; nothing of it is shown. */
function shown({ requestId, workspace, route, model, chain, entry }: Partial<ChatJob>): object {
  return {
    request: `req_${requestId}`,
    ...(workspace === undefined ? {} : { workspace, route, model, entry: chain?.[entry ?? 0] }),
  };
}
