/**
 * bull-board shows the queues as BullMQ's own tools see them. It is read-only: only GET requests reach it, so that its paths
 * and those of the admin api (POST /queues/{provider}/pause) do not collide.
 */
import type { Directory } from '@sluice/shared/directory/directory';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { Middleware } from 'koa';
import { createGuard } from '../access/guard.js';
import { permissionOf } from '../access/permissions.js';
import { type BullBoard, openBullBoard } from './bull-board.js';

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
  shards: readonly { queue: ChatQueue }[],
  providers: ReadonlyMap<string, unknown>,
  directory: Directory,
): Middleware {
  const guard = createGuard(permissionOf('GET /queues'), directory);
  let board: BullBoard | undefined;
  let shownProviders = '';
  const serve: Middleware = async (ctx) => {
    board ??= openBullBoard(
      BASE,
      shards.map(({ queue }) => queue),
    );
    const names = [...providers.keys()];
    if (names.join() !== shownProviders) {
      shownProviders = names.join();
      board.show(names);
    }
    await board.serve(ctx, async () => {});
  };
  return async (ctx, next) => {
    const isBoard = ctx.path === BASE || ctx.path.startsWith(`${BASE}/`);
    if (!isBoard || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next();
    ctx.set(HEADERS);
    if (HASHED_FILE.test(ctx.path)) ctx.set('cache-control', 'private, max-age=86400');
    await guard(ctx, () => serve(ctx, async () => {}));
    if (typeof ctx.body === 'string') ctx.body = ctx.body.replaceAll(FOREIGN_STYLES, '');
  };
}
