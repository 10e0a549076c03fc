/**
 * Recognises failed calls that were sent on a dead kept-alive socket: upstream had closed it, but the news came after the
 * call was sent. undici does not say which socket a call used, but it publishes each request with its socket.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** The latest request on a socket. */
interface Sent {
  reused: boolean;
  /** Bytes that had been read from the socket before. */
  bytesBefore: number;
  at: number;
}

const sentOn = new WeakMap<Socket, Sent>();
/** How long after its request was written a socket died, without a byte of an answer. */
const deaths = new WeakMap<Error, number>();

/** No provider has begun to work on a call this soon. */
const STALE_WITHIN_MS = 5;

subscribe('undici:client:sendHeaders', (message) => {
  const { socket } = message as { socket: Socket };
  const reused = sentOn.has(socket);
  sentOn.set(socket, { reused, bytesBefore: socket.bytesRead, at: performance.now() });
  if (reused) return;
  // undici fails the call with the very error that it ends the socket with.
  socket.once('error', (error) => {
    const sent = sentOn.get(socket);
    if (sent?.reused && socket.bytesRead === sent.bytesBefore) deaths.set(error, performance.now() - sent.at);
  });
});

/**
 * A reused socket died without a byte of an answer. `stale`: it died at once, so it was dead already, and the call may be
 * sent again. `lost`: it died later, and nobody knows whether the provider has worked on the call.
 */
export function deathOnReuse(error: unknown): 'stale' | 'lost' | undefined {
  if (!(error instanceof Error) || !CLOSED.has('code' in error ? error.code : undefined)) return undefined;
  const afterMs = deaths.get(error);
  if (afterMs === undefined) return undefined;
  return afterMs < STALE_WITHIN_MS ? 'stale' : 'lost';
}

const CLOSED: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);
