import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';

export interface Grace {
  /** How long a kept-alive connection may still bring a request. */
  idleMs: number;
  /** How long the requests that have come may take. */
  drainMs: number;
}

/**
 * Takes no new connections, and resolves when the others have ended. A request that is just arriving on a kept-alive
 * connection is answered: its connection looks idle until then, so idle ones are closed only after a while. Whoever
 * answers has to ask for the end of the connection (`connection: close`) from now on.
 */
export async function closeServer(server: Server, { idleMs, drainMs }: Grace): Promise<void> {
  // The close of an HTTP server would also reset what looks idle, at once.
  const closed = new Promise((resolve) => NetServer.prototype.close.call(server, resolve));
  const idleOver = setTimeout(() => server.closeIdleConnections(), idleMs);
  const timeUp = setTimeout(() => server.closeAllConnections(), idleMs + drainMs);
  await closed;
  clearTimeout(idleOver);
  clearTimeout(timeUp);
}
