/**
 * Answers that their callers do not read stay in this process's memory. Each workspace has a part of that memory. When a
 * workspace's large answers take more, the connection is closed on which an answer has lain longest, unless it is new: a
 * caller that reads has taken its answer by then. When they take several times as much, it is closed whatever its age.
 */
import type { ServerResponse } from 'node:http';
import type { Middleware } from 'koa';
import type { Authenticated } from './authenticate.js';

/** Smaller answers fit into the buffers that a connection has anyway. */
const SMALL_ANSWER_BYTES = 65_536;
/** By default a caller has as long to send a request. */
const GRACE_MS = 30_000;
const SEVERAL = 6;

export interface UnreadLimits {
  /** The most bytes of unread answers of one workspace. */
  maxBytes: number;
  graceMs?: number;
}

interface Unread {
  response: ServerResponse;
  bytes: number;
  /** By `performance.now()`. */
  since: number;
}

export function createDropSlowReaders({
  maxBytes,
  graceMs = GRACE_MS,
}: UnreadLimits): Middleware<Authenticated> {
  /** Workspace → its unread answers, oldest first. */
  const unread = new Map<string, Set<Unread>>();

  const hold = (workspace: string, response: ServerResponse, bytes: number) => {
    const others = unread.get(workspace) ?? new Set();
    unread.set(workspace, others);
    let sum = bytes;
    for (const each of others) sum += each.bytes;
    const now = performance.now();
    for (const each of others) {
      const isOld = now - each.since >= graceMs;
      if (sum <= (isOld ? maxBytes : SEVERAL * maxBytes)) break;
      others.delete(each);
      sum -= each.bytes;
      each.response.destroy();
    }
    const own: Unread = { response, bytes, since: now };
    others.add(own);
    response.once('close', () => {
      others.delete(own);
      if (others.size === 0 && unread.get(workspace) === others) unread.delete(workspace);
    });
  };

  return async (ctx, next) => {
    await next();
    const { body, res } = ctx;
    if (typeof body !== 'string' && !Buffer.isBuffer(body)) return;
    if (body.length > SMALL_ANSWER_BYTES && !res.destroyed) hold(ctx.state.key.workspace, res, body.length);
  };
}
