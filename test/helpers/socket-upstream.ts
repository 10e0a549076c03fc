/** An upstream at the level of sockets, for what an HTTP server would not do. Each POST is given to `handle`. */

import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { COMPLETION } from './held-upstream.js';

export interface Exchange {
  socket: Socket;
  /** An earlier request came on the same socket. */
  reused: boolean;
  /** Answers with a completion and keeps the socket open. */
  answer(): void;
}

export interface SocketUpstream {
  baseUrl: string;
  exchanges: Exchange[];
  handle(exchange: Exchange): void;
  close(): Promise<void>;
}

const HEAD = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(COMPLETION)}\r\n\r\n`;

export async function createSocketUpstream(): Promise<SocketUpstream> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    let requests = 0;
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      const head = received.slice(0, received.indexOf('\r\n\r\n') + 4);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (head === '' || received.length < head.length + length) return;
      received = '';
      if (!head.startsWith('POST')) {
        socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
        return;
      }
      const exchange = { socket, reused: requests++ > 0, answer: () => socket.write(HEAD + COMPLETION) };
      upstream.exchanges.push(exchange);
      upstream.handle(exchange);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const upstream: SocketUpstream = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    exchanges: [],
    handle: ({ answer }) => answer(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return upstream;
}
