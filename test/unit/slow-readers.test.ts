import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { UnreadAnswers } from '@sluice/api/http/slow-readers';
import test from 'ava';
import Koa from 'koa';

const MB = 1024 * 1024;
/** More than the buffers of a connection hold. */
const ANSWER_BYTES = 24 * MB;

async function start(graceMs: number, maxBytes = 2 * ANSWER_BYTES) {
  const app = new Koa();
  const unread = new UnreadAnswers({ maxBytes, graceMs });
  let answered = 0;
  app.use((ctx) => {
    ctx.body = Buffer.alloc(ANSWER_BYTES, 'x');
    unread.hold(ctx.get('workspace'), ctx);
    answered++;
  });
  const server = createServer(app.callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    /** Sends a request, and returns once its answer is on the way. */
    async ask(workspace: string): Promise<Socket> {
      const before = answered;
      const socket = connect(port, '127.0.0.1').pause();
      socket.write(`GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nworkspace: ${workspace}\r\n\r\n`);
      while (answered === before) await new Promise((resolve) => setTimeout(resolve, 5));
      return socket;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Reads what comes; its length when it came whole. */
async function lengthOf(socket: Socket): Promise<number | 'broken'> {
  try {
    const answer = await text(socket.resume());
    const length = answer.length - answer.indexOf('\r\n\r\n') - 4;
    return length === ANSWER_BYTES ? length : 'broken';
  } catch {
    return 'broken';
  }
}

test('a workspace whose answers are not read loses the oldest of them, and no other workspace does', async (t) => {
  const server = await start(0);
  const innocent = await server.ask('innocent');
  const first = await server.ask('slow');
  const [second, third] = [await server.ask('slow'), await server.ask('slow')];
  t.is(await lengthOf(first), 'broken');
  for (const socket of [second, third, innocent]) t.is(await lengthOf(socket), ANSWER_BYTES);
  server.close();
});

test('an answer that was sent a moment ago is not dropped', async (t) => {
  const server = await start(60_000);
  const sockets = [await server.ask('busy'), await server.ask('busy'), await server.ask('busy')];
  for (const socket of sockets) t.is(await lengthOf(socket), ANSWER_BYTES);
  server.close();
});

test('of far too many unread answers the oldest is dropped however new it is', async (t) => {
  const server = await start(60_000, ANSWER_BYTES / 6);
  const [first, second] = [await server.ask('flood'), await server.ask('flood')];
  t.is(await lengthOf(first), 'broken');
  t.is(await lengthOf(second), ANSWER_BYTES);
  server.close();
});
