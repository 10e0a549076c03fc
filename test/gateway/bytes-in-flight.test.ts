/** Bodies and answers take a share of a process's memory, and wait or are refused when there is none left. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

const MB = 1024 * 1024;
const SOLO = { solo: [{ provider: 'openai', model: 'gpt-4o-mini' }] };
const hold = new Hold();
let gateway: Gateway;

test.before(async () => {
  gateway = await startGateway({
    routes: SOLO,
    workspaces: {
      loud: { routes: SOLO },
      third: { routes: SOLO },
      narrow: { routes: SOLO, limits: { requests_per_minute: 1, when_full: 'refuse' } },
    },
    request: {
      max_body_bytes: MB,
      max_bytes_in_flight: 3 * MB,
      max_bytes_in_flight_per_workspace: 2 * MB,
      max_answer_bytes_in_flight: MB,
    },
    simulator: { latencyMs: hold.latency },
  });
});
test.beforeEach(() => hold.release());
test.after.always(async () => {
  hold.release();
  await gateway?.stop();
});

function send(workspace: string, bytes: number) {
  const body = { model: 'solo', messages: [{ role: 'user', content: 'x'.repeat(bytes) }] };
  return gateway.chat(body, { key: gateway.keys[workspace] ?? '' });
}

/** The head of a request, and what it is followed by, if anything; and the answer to it. */
async function announce(workspace: string, length: string, more = ''): Promise<string> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${gateway.keys[workspace]}\r\n` +
      `content-type: application/json\r\nconnection: close\r\n${length}\r\n\r\n${more}`,
  );
  return text(socket);
}

test.serial('beyond its share a workspace is refused by its headers; the others are served', async (t) => {
  hold.hold();
  const held = [send('loud', 900_000), send('loud', 900_000)];
  await until('both calls', () => hold.held.length === 2);
  const refused = await send('loud', 900_000);
  t.is(refused.status, 429);
  t.is(refused.body.error.code, 'rate_limited');
  t.is(refused.headers.get('retry-after'), '1');
  t.regex(await announce('loud', 'content-length: 900000'), /^HTTP\/1\.1 429 /);
  // What does not say how long it is takes its share as it comes.
  const chunk = `${(900_000).toString(16)}\r\n${' '.repeat(900_000)}\r\n`;
  t.regex(await announce('loud', 'transfer-encoding: chunked', chunk), /^HTTP\/1\.1 429 /);
  const others = send('third', 900_000);
  await until('the other workspace’s call', () => hold.held.length === 3);
  hold.release();
  t.deepEqual(
    (await Promise.all([...held, others])).map(({ status }) => status),
    [200, 200, 200],
  );
  t.is((await send('loud', 900_000)).status, 200, 'what was answered has given its share back');
});

test.serial('a request that runs on without its caller keeps its share until it is over', async (t) => {
  hold.hold();
  const body = JSON.stringify({
    model: 'solo',
    messages: [{ role: 'user', content: 'x'.repeat(900_000) }],
  });
  const { hostname, port } = new URL(gateway.url);
  for (const key of ['one', 'two']) {
    const socket = connect(Number(port), hostname).on('error', () => {});
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${gateway.keys.loud}\r\n` +
        `content-type: application/json\r\nidempotency-key: ${key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    const calls = hold.held.length;
    await until('its call', () => hold.held.length === calls + 1);
    socket.resetAndDestroy();
  }
  // The api learns of a reset a moment later. Until then it would refuse for the open connection alone.
  for (let i = 0; i < 20; i++) {
    t.is((await send('loud', 900_000)).status, 429);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  hold.release();
  await until('the share to be back', async () => (await send('loud', 900_000)).status === 200);
});

test.serial('small bodies that do not say how long they are take no more room than they need', async (t) => {
  const body = JSON.stringify({ model: 'solo', messages: [{ role: 'user', content: 'Hi' }] });
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => announce('loud', 'transfer-encoding: chunked', chunk)),
  );
  for (const answer of answers) t.regex(answer, /^HTTP\/1\.1 200 /);
});

test.serial('beyond the share of the process everybody is refused, with 503', async (t) => {
  hold.hold();
  const held = [send('loud', 900_000), send('loud', 900_000), send('third', 900_000)];
  await until('the calls', () => hold.held.length === 3);
  const refused = await send('demo', 900_000);
  t.is(refused.status, 503);
  t.is(refused.body.error.code, 'service_unavailable');
  t.is(refused.headers.get('retry-after'), '1');
  const small = send('demo', 100);
  await until('the small call', () => hold.held.length === 4);
  hold.release();
  t.is((await small).status, 200);
  await Promise.all(held);
});

test.serial(
  'bodies that were only announced give their room to a workspace that has less of it',
  async (t) => {
    const { hostname, port } = new URL(gateway.url);
    const sockets = ['loud', 'loud', 'third'].map((workspace) => {
      const socket = connect(Number(port), hostname);
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${gateway.keys[workspace]}\r\n` +
          'content-type: application/json\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-length: 1040000\r\n\r\n',
      );
      return socket;
    });
    // The body may come: its room is taken.
    for (const socket of sockets) t.regex(String(await once(socket, 'data')), /^HTTP\/1\.1 100 /);
    const refusals = Promise.race(sockets.map((socket) => text(socket)));
    t.is((await send('demo', 900_000)).status, 200);
    const refusal = await refusals;
    t.regex(refusal, /too slowly/);
    t.regex(refusal, /^HTTP\/1\.1 503 [\s\S]*retry-after: 1[\s\S]*service_unavailable/i);
    for (const socket of sockets) socket.destroy();
  },
);

test.serial('a large body of a workspace that is over its limit is refused by its headers', async (t) => {
  t.is((await send('narrow', 10)).status, 200);
  const refused = await send('narrow', 10);
  t.is(refused.status, 429);
  const answer = await announce('narrow', 'content-length: 900000');
  t.regex(answer, /^HTTP\/1\.1 429 [\s\S]*retry-after: \d+[\s\S]*requests a minute/i);
});

test.serial('large answers wait for each other in the worker, and all of them arrive', async (t) => {
  const answer = 'y'.repeat(700_000);
  gateway.simulator.script({ match: { textIncludes: 'say much' }, times: 6, action: { text: answer } });
  const body = { model: 'solo', messages: [{ role: 'user', content: 'say much' }] };
  const answers = await Promise.all(Array.from({ length: 6 }, () => gateway.chat(body)));
  for (const { status, body } of answers) {
    t.is(status, 200);
    t.is(body.choices[0].message.content, answer);
  }
});
