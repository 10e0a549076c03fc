import type { Middleware } from 'koa';
import type { ConsoleFile } from './console-files.js';

/** The page runs nothing but its own files and speaks to nobody but this listener. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  // Browsers keep the files but check them every time, so that no old file runs against a new gateway.
  'cache-control': 'no-cache',
  vary: 'accept-encoding',
};

/** The console's shell and files. They hold no data, so they need no token. */
export function createServeConsole(files: ReadonlyMap<string, ConsoleFile>): Middleware {
  return (ctx, next) => {
    const file = ctx.method === 'GET' || ctx.method === 'HEAD' ? files.get(ctx.path) : undefined;
    if (!file) return next();
    ctx.set(HEADERS);
    ctx.status = 200;
    ctx.etag = file.etag;
    ctx.type = file.type;
    if (ctx.fresh) {
      ctx.status = 304;
      ctx.body = null;
    } else if (ctx.acceptsEncodings('gzip', 'identity') === 'gzip') {
      ctx.set('content-encoding', 'gzip');
      ctx.body = file.zipped;
    } else ctx.body = file.body;
  };
}

/** Answers of this listener are private: no cache may keep them, and no browser may show them as a page. */
export const keepPrivate: Middleware = (ctx, next) => {
  ctx.set({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
  return next();
};
