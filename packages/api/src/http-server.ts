import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { GatewayError } from '@sluice/shared/errors';
import { makeRequestId } from '@sluice/shared/request-id';
import type Koa from 'koa';

const MAX_CONNECTIONS = 20_000;

/**
 * Node's server with limits of our own. Idle connections are kept longer than any balancer keeps its side, so that a
 * pooled client does not send a request on a socket that we are just closing.
 */
export function createHttpServer(app: Koa): Server {
  const server = createServer(
    {
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 75_000,
      maxHeaderSize: 16 * 1024,
      noDelay: true,
    },
    app.callback(),
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.on('clientError', refuseUnreadable);
  return server;
}

/** What is not HTTP never reaches Koa, and is answered in the same shape. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const refusal = new GatewayError(
    tooLarge ? 'request_too_large' : 'invalid_request',
    tooLarge ? 'The request headers are too large.' : 'The request is not valid HTTP, or came too slowly.',
  );
  const body = JSON.stringify(refusal.toBody());
  socket.end(
    `HTTP/1.1 ${refusal.status} ${tooLarge ? 'Content Too Large' : 'Bad Request'}\r\n` +
      `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: req_${makeRequestId()}\r\nconnection: close\r\n\r\n${body}`,
  );
}
