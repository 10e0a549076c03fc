/**
 * Connections on which a request was answered before its body had come to its end, such as a refused upload. The rest is read and
 * dropped. A process that stops need not wait for it.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

const unread = new Set<Socket>();

/** Of a request that is answered, and not complete. */
export function noteUnread(request: IncomingMessage): void {
  const { socket } = request;
  if (socket.destroyed) return;
  unread.add(socket);
  // When the rest has come, or the connection has ended. A listener of the connection would stay for all its requests.
  request.once('close', () => unread.delete(socket));
}

export function closeUnread(): void {
  for (const socket of unread) socket.destroy();
}
