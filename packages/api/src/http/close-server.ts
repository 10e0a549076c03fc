import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { closeUnread } from './unread-bodies.js';

export interface Grace {
  /** How long a kept-alive connection may still bring a request. */
  idleMs: number;
  /** How long the accepted requests may take. */
  drainMs: number;
}

/** A connection may become idle later, when the rest of a refused body has come. */
const LOOK_EVERY_MS = 1_000;
/** Callers that connect without a pause keep the listener open for so many connections. A system holds 511 that wait. */
const MOST_RUSHING = 2_000;

/**
 * Takes no new connections, and resolves when the others have ended. A request that is just arriving on a kept-alive
 * connection is answered. Such a connection looks idle, so idle connections are closed only after a while. From now on
 * every answer has to ask for the end of its connection (`connection: close`).
 */
export async function closeServer(server: Server, { idleMs, drainMs }: Grace): Promise<void> {
  const closed = new Promise((resolve) => {
    // Closing an HTTP server would also reset connections that look idle, at once.
    whenNobodyWaits(server, () => NetServer.prototype.close.call(server, resolve));
  });
  const closeUnneeded = () => {
    server.closeIdleConnections();
    closeUnread();
    idleOver = setTimeout(closeUnneeded, LOOK_EVERY_MS);
  };
  let idleOver = setTimeout(closeUnneeded, idleMs);
  const timeUp = setTimeout(() => server.closeAllConnections(), idleMs + drainMs);
  await closed;
  clearTimeout(idleOver);
  clearTimeout(timeUp);
}

/**
 * Runs `close` when no connection waits to be accepted, because the system would reset it. Node accepts one in each tick of
 * its event loop, so none waits after a tick without a new one.
 */
function whenNobodyWaits(server: Server, close: () => void): void {
  let all = 0;
  let came = true;
  const note = () => {
    all++;
    came = true;
  };
  const look = () => {
    if (came && all < MOST_RUSHING) {
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
