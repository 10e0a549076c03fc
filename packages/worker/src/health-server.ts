import { createServer, type Server } from 'node:http';

/** `/healthz`: the process is up. `/readyz`: it can do its work. */
export function createHealthServer(isReady: () => boolean): Server {
  return createServer((request, response) => {
    const path = request.url?.split('?')[0];
    const status = path === '/healthz' ? 200 : path === '/readyz' ? (isReady() ? 200 : 503) : 404;
    const text = status === 200 ? 'ok' : status === 503 ? 'not ready' : 'not found';
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ status: text }));
  });
}
