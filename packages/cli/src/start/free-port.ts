import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * This is below the range that systems give to outgoing connections (from 32768 on). Such a connection could take the port
 * before its process listens on it. Each process begins at another number, offers no port twice, and leaves some ports free
 * after each one, for processes that also take the next ones.
 */
const FIRST = 12_000;
const LAST = 32_000;
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

async function isFree(port: number, host: string): Promise<boolean> {
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
