import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Returns the server's address. `variable` is the environment variable that sets the port. */
export async function listen(server: Server, port: number, host: string, variable?: string): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const inUse = error.code === 'EADDRINUSE' && variable !== undefined;
      reject(inUse ? new Error(`port ${port} of ${host} is in use; set ${variable} to another one`) : error);
    });
    server.listen(port, host, resolve);
  });
  const { address, family, port: bound } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`;
}
