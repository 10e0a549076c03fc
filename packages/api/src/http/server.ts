import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { GatewayError } from '@sluice/shared/errors';
import { http } from '@sluice/shared/process/node-http';
import { makeRequestId } from '@sluice/shared/request-id';
import type Koa from 'koa';
import type { ConnectionLimit } from './connection-limit.js';
import { holdBack } from './expect-continue.js';
import { maySendSlowly } from './slow-bodies.js';

/** A caller that is still sending needs a moment to read why it was refused. Nobody reads what it sends. */
const LINGER_MS = 5_000;

export interface HttpServerOptions {
  /** How long a caller may take to send a request. */
  receiveTimeoutMs: number;
  /** A caller that closes its side is still answered. The handler has to find out by itself when the caller is gone. */
  answersHalfClosed?: boolean;
}

/**
 * Node's server with limits of our own. Idle connections are kept longer than any balancer keeps its side, so that a
 * pooled client does not send a request on a socket that we are just closing.
 */
export function createHttpServer(
  app: Koa,
  { receiveTimeoutMs, answersHalfClosed = false }: HttpServerOptions,
  limit: ConnectionLimit,
): Server {
  const server = http.createServer(
    {
      headersTimeout: receiveTimeoutMs,
      requestTimeout: receiveTimeoutMs,
      // Node checks for late requests only this often.
      connectionsCheckingInterval: Math.min(1_000, receiveTimeoutMs),
      keepAliveTimeout: 75_000,
      maxHeaderSize: 16 * 1024,
      noDelay: true,
      requireHostHeader: false,
    },
    app.callback(),
  );
  limit.hold(server);
  // Each waiting request listens for the end of its connection, and a caller may send many at once.
  server.on('connection', (socket) => socket.setMaxListeners(0));
  // This option is not documented. Without it a caller that closes its side is never answered.
  if (answersHalfClosed) Object.assign(server, { httpAllowHalfOpen: true });
  server.on('clientError', refuseUnreadable);
  // Node's own answer would not have the contract's shape.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('checkContinue', (request, response) => {
    holdBack(response);
    server.emit('request', request, response);
  });
  server.on('connect', (_request, socket) =>
    refuse(socket, new GatewayError('method_not_allowed', 'This is not a proxy.')),
  );
  return server;
}

/** Answers input that is not HTTP, which never reaches Koa. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && maySendSlowly(socket)) return;
  if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
  else refuse(socket, toRefusal(error.code));
}

function toRefusal(code: string | undefined): GatewayError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new GatewayError('request_too_large', 'The request headers are too large.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    // Nothing was done. A caller's process that stood still for a while sends it again, as the official SDKs do by themselves.
    return new GatewayError('invalid_request', 'The request came too slowly.', {
      headers: { 'x-should-retry': 'true' },
    });
  return new GatewayError('invalid_request', 'The request is not valid HTTP.');
}

function refuse(socket: Duplex, refusal: GatewayError): void {
  const body = JSON.stringify(refusal.toBody());
  const headers = Object.entries(refusal.toHeaders()).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${refusal.status} ${http.STATUS_CODES[refusal.status]}\r\n${headers.join('')}` +
      `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: req_${makeRequestId()}\r\nconnection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
