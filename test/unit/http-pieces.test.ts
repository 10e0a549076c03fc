/** Answers in pieces from servers that do not end them. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AnswerRoom } from '@sluice/worker/calls/answer-room';
import { HttpClient, type Pieces } from '@sluice/worker/calls/http-client';
import { StopSignal } from '@sluice/worker/calls/stop-signal';
import { openaiCompatible } from '@sluice/worker/providers/openai/index';
import type { Assembler } from '@sluice/worker/providers/types';
import test, { type ExecutionContext } from 'ava';

const PIECE = { id: 'x', choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }] };
const LONG_MS = 600_000;

async function read(
  t: ExecutionContext,
  write: (response: ServerResponse) => void,
  more: Partial<Pieces> = {},
) {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    write(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new HttpClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 1);
  t.teardown(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  const assembler = openaiCompatible.stream?.assemble() as Assembler;
  const pieces: Pieces = { firstMs: LONG_MS, stallMs: LONG_MS, assembler, ...more };
  const share = new AnswerRoom(1e6).share();
  return client.post('/', {}, '{}', LONG_MS, new StopSignal(), share, { pieces });
}

const all = `data: ${JSON.stringify(PIECE)}\n\ndata: [DONE]\n\n`;
const contentOf = ({ body }: { body: unknown }) =>
  (body as { choices: { message: { content: string } }[] }).choices[0]?.message.content;

test('an answer that is complete is not held up by a server that keeps the connection', async (t) => {
  t.is(contentOf(await read(t, (response) => response.write(all))), 'Hello');
});

test('nor by one that goes on to send signs of life, or another answer', async (t) => {
  const more = (response: ServerResponse) => {
    response.write(all);
    const timer = setInterval(() => response.write(`: alive\n\n${all}`), 20);
    response.on('close', () => clearInterval(timer));
  };
  t.is(contentOf(await read(t, more)), 'Hello');
});

test('a server that sends signs of life alone is left after the time for its first piece', async (t) => {
  const alive = (response: ServerResponse) => {
    const timer = setInterval(() => response.write(': alive\n\n'), 20);
    response.on('close', () => clearInterval(timer));
  };
  await t.throwsAsync(read(t, alive, { firstMs: 300 }), { message: 'no answer: stalled' });
});

test('an event without an end is too large, also when its lines are empty', async (t) => {
  const lines = Buffer.from('data:\n'.repeat(20_000));
  const endless = (response: ServerResponse) => {
    const write = (): void => {
      if (!response.destroyed) response.write(lines, () => setImmediate(write));
    };
    write();
  };
  await t.throwsAsync(read(t, endless), { message: 'no answer: too_large' });
});

test('an answer that breaks off in a character is no answer', async (t) => {
  const bytes = Buffer.from(`data: ${JSON.stringify(PIECE).replace('Hello', '語')}\n\n`);
  const cut = (response: ServerResponse) =>
    response.write(bytes.subarray(0, bytes.indexOf(0xe8) + 1), () => response.destroy());
  await t.throwsAsync(read(t, cut), { message: /no answer: (connection|lost)/ });
});
