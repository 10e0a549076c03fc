/**
 * Ports that nobody listens on. They are below the range that systems give to outgoing connections (from 32768 on), because
 * such a connection could take the port before its process listens on it. `next` goes on with every offer, so that no port is
 * offered twice. Each process begins at another number, and leaves some ports free for processes that also take the next ones.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

const FIRST = 12_000;
export const LAST = 22_000;
const ROOM = 5;
let next = FIRST + randomInt((LAST - FIRST) / ROOM) * ROOM;

/** A port that nobody listens on now: any, or `preferred` or the next free one after it. */
export async function freePort(preferred = 0, host = '127.0.0.1'): Promise<number> {
  if (preferred === 0) {
    for (;;) {
      const port = next;
      next = port < LAST ? port + ROOM : FIRST;
      if (await isFree(port, host)) return port;
    }
  }
  for (let port = preferred; port < 65_536; port++) if (await isFree(port, host)) return port;
  throw new Error(`no free port from ${preferred} on`);
}

export async function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer();
  const free = await new Promise<boolean>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen(port, host, () => resolve(true));
  });
  if (!free) return false;
  server.close();
  await once(server, 'close');
  return true;
}
