import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AnswerRoom } from '@sluice/worker/calls/answer-room';
import { HttpClient } from '@sluice/worker/calls/http-client';
import { StopSignal } from '@sluice/worker/calls/stop-signal';
import test from 'ava';

const LONG_MS = 600_000;
const CREATED = 'undici:request:create';

test('who holds on to an ended call holds nothing of its answer', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"said":"hello"}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new HttpClient(origin, 1);
  // A request of undici has the call that it is for. Other tests of this process make some, too.
  const held: unknown[] = [];
  const hold = (message: unknown) => {
    const { request } = message as { request: { origin: unknown } };
    if (request.origin === origin) held.push(request);
  };
  subscribe(CREATED, hold);
  t.teardown(async () => {
    unsubscribe(CREATED, hold);
    await client.close();
    server.close();
  });

  const share = new AnswerRoom(1e6).share();
  const call = async () => {
    const { body } = await client.post('/', {}, '{}', LONG_MS, new StopSignal(), share);
    t.deepEqual(body, { said: 'hello' });
    return new WeakRef(body as object);
  };
  const answer = await call();
  for (let i = 0; i < 3; i++) {
    await setImmediate();
    collect();
  }
  t.is(held.length, 1);
  t.is(answer.deref(), undefined);
});
