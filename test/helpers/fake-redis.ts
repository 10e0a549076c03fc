/** A server that speaks Redis' protocol, says of itself what a test wants, and can do nothing else. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface FakeRedis {
  url: string;
  /** Resets its connections, and takes no more. */
  die(): void;
}

export interface FakeAnswers {
  /** What it says to INFO. */
  info: string;
  /** What it says to a command, in the protocol's own form; `+OK` where this has no answer. */
  answer?: (command: string) => string | undefined;
}

export async function startFakeRedis({ info, answer }: FakeAnswers): Promise<FakeRedis> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      // Commands come whole here: they are short, and a client sends each by one write.
      for (const [, command = ''] of chunk.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
        const name = command.toLowerCase();
        const given = name === 'info' ? `$${Buffer.byteLength(info)}\r\n${info}` : answer?.(name);
        socket.write(`${given ?? '+OK'}\r\n`);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `redis://127.0.0.1:${port}`,
    die() {
      server.close();
      for (const socket of sockets) socket.resetAndDestroy();
    },
  };
}
