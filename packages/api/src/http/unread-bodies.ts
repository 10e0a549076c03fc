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
  const forget = () => unread.delete(socket);
  request.once('end', forget);
  socket.once('close', forget);
}

export function closeUnread(): void {
  for (const socket of unread) socket.destroy();
}
