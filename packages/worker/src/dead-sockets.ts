/**
 * Which failed calls went out on a kept-alive socket that was already dead: upstream had closed it, and the news came
 * after the call was sent. undici does not say which socket a call used, but it publishes each request with its socket.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** The latest request on a socket. */
interface Sent {
  reused: boolean;
  /** Bytes that had been read from the socket before. */
  bytesBefore: number;
}

const sentOn = new WeakMap<Socket, Sent>();
const deaths = new WeakSet<Error>();

subscribe('undici:client:sendHeaders', (message) => {
  const { socket } = message as { socket: Socket };
  const reused = sentOn.has(socket);
  sentOn.set(socket, { reused, bytesBefore: socket.bytesRead });
  if (reused) return;
  // undici fails the call with the very error that it ends the socket with.
  socket.once('error', (error) => {
    const sent = sentOn.get(socket);
    if (sent?.reused && socket.bytesRead === sent.bytesBefore) deaths.add(error);
  });
});

/** No byte of an answer has come on a socket that had served before: the call may be sent again. */
export function diedOnReuse(error: unknown): boolean {
  return error instanceof Error && deaths.has(error) && CLOSED.has('code' in error ? error.code : undefined);
}

const CLOSED: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);
