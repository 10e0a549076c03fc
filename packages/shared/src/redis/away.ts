/** Redis did not answer a command in time. */
export class CommandTimeout extends Error {
  override readonly name = 'CommandTimeout';

  constructor(ms: number) {
    super(`Redis did not answer within ${ms} ms`);
  }
}

const CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'EAI_AGAIN',
]);
const REPLIES =
  /^(?:OOM|LOADING|READONLY|MISCONF|BUSY|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|MASTERDOWN|NOREPLICAS|UNBLOCKED)\b/;
const MESSAGES = /Connection is closed|Stream isn't writeable|Command queue state|Reached the max retries/;

/** Redis has reached its `maxmemory`. In a MULTI it refuses reads, too. */
export function isRedisFull(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('OOM ');
}

/**
 * Whether an error means that Redis cannot serve now: unreachable, too slow, full, loading, or a replica. ioredis marks
 * these by name and by the first word of the reply, not by a class.
 */
export function isRedisAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof CommandTimeout) return true;
  if (error.name === 'MaxRetriesPerRequestError' || error.name === 'AbortError') return true;
  if ('code' in error && typeof error.code === 'string' && CODES.has(error.code)) return true;
  return REPLIES.test(error.message) || MESSAGES.test(error.message);
}
