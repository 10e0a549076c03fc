import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A port that nobody listens on now; `preferred` or the next free one after it, if given. */
export async function freePort(preferred = 0, host = '127.0.0.1'): Promise<number> {
  for (let port = preferred; port < 65_536; port++) {
    const server = createServer();
    const free = await new Promise<boolean>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE') resolve(false);
        else reject(error);
      });
      server.listen(port, host, () => resolve(true));
    });
    if (!free) continue;
    const found = (server.address() as AddressInfo).port;
    server.close();
    await once(server, 'close');
    return found;
  }
  throw new Error(`no free port from ${preferred} on`);
}
