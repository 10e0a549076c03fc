import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';

export interface Grace {
  /** How long a kept-alive connection may still bring a request. */
  idleMs: number;
  /** How long the requests that have come may take. */
  drainMs: number;
}

/** Callers that connect without a pause cannot keep the listener open for longer than this. */
const LONGEST_RUSH_MS = 1_000;

/**
 * Takes no new connections, and resolves when the others have ended. A request that is just arriving on a kept-alive
 * connection is answered: its connection looks idle until then, so idle ones are closed only after a while. Whoever
 * answers has to ask for the end of the connection (`connection: close`) from now on.
 */
export async function closeServer(server: Server, { idleMs, drainMs }: Grace): Promise<void> {
  const closed = new Promise((resolve) => {
    // The close of an HTTP server would also reset what looks idle, at once.
    whenNobodyWaits(server, () => NetServer.prototype.close.call(server, resolve));
  });
  const idleOver = setTimeout(() => server.closeIdleConnections(), idleMs);
  const timeUp = setTimeout(() => server.closeAllConnections(), idleMs + drainMs);
  await closed;
  clearTimeout(idleOver);
  clearTimeout(timeUp);
}

/**
 * Runs `close` when no connection waits to be accepted: the system would reset those. Node accepts one in each turn of its
 * event loop, so none waits after a turn in which none came.
 */
function whenNobodyWaits(server: Server, close: () => void): void {
  const latest = performance.now() + LONGEST_RUSH_MS;
  let came = true;
  const note = () => {
    came = true;
  };
  const look = () => {
    if (came && performance.now() < latest) {
      came = false;
      setImmediate(look);
      return;
    }
    server.off('connection', note).off('drop', note);
    close();
  };
  // A connection above the limit is dropped as soon as it is accepted.
  server.on('connection', note).on('drop', note);
  setImmediate(look);
}
