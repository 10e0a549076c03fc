/**
 * Answers that their callers do not read stay in this process's memory. Each workspace has a part of that memory. When a
 * workspace's large answers take more, the connection is closed on which an answer has lain longest, unless it is new: a
 * caller that reads has taken its answer by then. When they take several times as much, it is closed whatever its age.
 */
import type { ServerResponse } from 'node:http';
import type { ParameterizedContext } from 'koa';

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

export class UnreadAnswers {
  /** Workspace → its unread answers, oldest first. */
  readonly #unread = new Map<string, Set<Unread>>();
  readonly #maxBytes: number;
  readonly #graceMs: number;

  constructor({ maxBytes, graceMs = GRACE_MS }: UnreadLimits) {
    this.#maxBytes = maxBytes;
    this.#graceMs = graceMs;
  }

  /** Counts the answer of a request until its caller has read it, and makes room for it. */
  hold(workspace: string, { response: { body }, res: response }: ParameterizedContext): void {
    if (typeof body !== 'string' && !Buffer.isBuffer(body)) return;
    const bytes = body.length;
    if (bytes <= SMALL_ANSWER_BYTES || response.destroyed) return;
    const others = this.#unread.get(workspace) ?? new Set();
    this.#unread.set(workspace, others);
    let sum = bytes;
    for (const each of others) sum += each.bytes;
    const now = performance.now();
    for (const each of others) {
      const isOld = now - each.since >= this.#graceMs;
      if (sum <= (isOld ? this.#maxBytes : SEVERAL * this.#maxBytes)) break;
      others.delete(each);
      sum -= each.bytes;
      each.response.destroy();
    }
    const own: Unread = { response, bytes, since: now };
    others.add(own);
    response.once('close', () => {
      others.delete(own);
      if (others.size === 0 && this.#unread.get(workspace) === others) this.#unread.delete(workspace);
    });
  }
}
