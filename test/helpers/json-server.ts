import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface JsonServer {
  url: string;
  close(): Promise<void>;
}

/** Serves what `answers` has for the path, as JSON; a function answers by itself. */
export async function createJsonServer(answers: Record<string, unknown>): Promise<JsonServer> {
  const server = createServer((request, response) => {
    const answer = answers[request.url?.split('?')[0] ?? ''];
    if (typeof answer === 'function') return (answer as RequestListener)(request, response);
    if (answer === undefined) return response.writeHead(404).end();
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
