/** SIGTERM: readiness turns red, nothing new is taken, what was accepted is answered. A second signal ends at once. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { type ChatAnswer, type Gateway, startProcesses, type TestProcess } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { openRaw } from '../helpers/raw-http.js';
import { until } from '../helpers/until.js';
import { callsFor } from '../helpers/upstream-calls.js';

/** Long enough for a few requests on a busy machine, on which a process and the test may stop for seconds. */
const DELAY_MS = '15000';
const hold = new Hold();
let gateway: Gateway;

test.before(async () => {
  gateway = await startProcesses({
    providers: { openai: { max_wait_ms: 60_000 } },
    routes: { solo: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
    simulator: { latencyMs: hold.latency },
  });
});
test.beforeEach(() => hold.hold());
test.afterEach.always(() => hold.release());
test.after.always(() => gateway?.stop());

function ask(text: string, url = gateway.url): Promise<ChatAnswer> {
  return gateway.chat({ model: 'solo', messages: [{ role: 'user', content: text }] }, { url });
}

const statusOf = (url: string) =>
  fetch(url, { headers: { connection: 'close' } }).then(
    ({ status }) => status,
    () => 0,
  );

async function exitOf({ child }: TestProcess): Promise<number | null> {
  const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
  return code;
}

test.serial(
  'a draining api is not ready, still serves for a while, and answers what it has accepted',
  async (t) => {
    const api = await gateway.addApi({ DRAIN_DELAY_MS: DELAY_MS });
    const accepted = ask('accepted before', api.url);
    await until('the call', () => hold.held.length === 1);
    api.child.kill('SIGTERM');
    await until('readiness red', async () => (await statusOf(`${api.url}/readyz`)) === 503);
    t.is(await statusOf(`${api.url}/healthz`), 200);

    const late = ask('sent while draining', api.url);
    await until('its call', () => hold.held.length === 2);
    await until('no more connections', async () => (await statusOf(`${api.url}/healthz`)) === 0);
    t.is(api.child.exitCode, null, 'it waits for its callers');

    hold.release();
    for (const { status, headers } of await Promise.all([accepted, late])) {
      t.is(status, 200);
      t.is(headers.get('connection'), 'close');
    }
    t.is(await exitOf(api), 0);
  },
);

test.serial('a request on a kept-alive connection is answered after the listener has closed', async (t) => {
  // A connection that sends nothing is cut after ten seconds.
  const api = await gateway.addApi({ DRAIN_DELAY_MS: '8000' });
  const request = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n';
  const kept = openRaw(api.url, request);
  t.is((await kept.answers(1))[0]?.headers.get('connection'), 'keep-alive');
  const unused = openRaw(api.url, '');
  await once(unused.socket, 'connect');
  api.child.kill('SIGTERM');
  await until('no more connections', async () => (await statusOf(`${api.url}/healthz`)) === 0);

  kept.socket.write(request);
  unused.socket.write(request);
  const [, last] = await kept.end();
  t.is(last?.status, 200);
  t.is(last?.headers.get('connection'), 'close');
  t.is((await unused.end())[0]?.status, 200);
  t.is(await exitOf(api), 0);
});

test.serial('connections that wait to be accepted when the listener closes are answered', async (t) => {
  const api = await gateway.addApi({ DRAIN_DELAY_MS: DELAY_MS });
  api.child.kill('SIGTERM');
  await until('readiness red', async () => (await statusOf(`${api.url}/readyz`)) === 503);
  // Frozen beyond the delay: when it goes on, its time is over and the system has connections that it has not seen.
  api.child.kill('SIGSTOP');
  const over = performance.now() + Number(DELAY_MS);
  const callers = Array.from({ length: 20 }, () =>
    openRaw(api.url, 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'),
  );
  await Promise.all(callers.map(({ socket }) => once(socket, 'connect')));
  await until('the end of the delay', () => performance.now() > over);
  api.child.kill('SIGCONT');
  for (const caller of callers) t.is((await caller.end())[0]?.status, 200);
  t.is(await exitOf(api), 0);
});

test.serial('connections that stay idle do not hold up the end of a draining api', async (t) => {
  const api = await gateway.addApi({ DRAIN_DELAY_MS: '200' });
  const kept = openRaw(api.url, 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
  await kept.answers(1);
  api.child.kill('SIGTERM');
  t.is((await kept.end()).length, 1);
  t.is(await exitOf(api), 0);
});

test.serial('the rest of a body that was refused does not hold up the end of a draining api', async (t) => {
  const api = await gateway.addApi({ DRAIN_DELAY_MS: '200' });
  const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';
  const refused = openRaw(api.url, `${head}content-length: 1000\r\n\r\n{`);
  t.is((await refused.answers(1))[0]?.status, 401);
  api.child.kill('SIGTERM');
  // If the api waited for the rest, it would say at last that the request came too slowly.
  t.is((await refused.end()).length, 1);
  t.is(await exitOf(api), 0);
});

test.serial('a caller that goes on sending after its refusal is cut off, and holds up no end', async (t) => {
  const api = await gateway.addApi({ DRAIN_DELAY_MS: '200' });
  const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';
  const { hostname, port } = new URL(api.url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true }).on('error', () => {});
  socket.write(head);
  const [refusal] = await once(socket, 'data');
  t.regex(String(refusal), /^HTTP\/1.1 400 .*came too slowly/s);
  socket.write(`content-length: 9000000\r\n\r\n${'x'.repeat(8_000_000)}`);
  api.child.kill('SIGTERM');
  t.is(await exitOf(api), 0);
  socket.destroy();
});

test.serial('a draining worker finishes its calls and takes no more', async (t) => {
  const [old] = gateway.workers.splice(0);
  if (!old) return t.fail();
  const running = ask('running when it drains');
  await until('the call', () => hold.held.length === 1);
  old.child.kill('SIGTERM');
  await until('readiness red', async () => (await statusOf(`${old.url}/readyz`)) === 503);

  // One that comes in the very moment of the signal may still be taken.
  const texts = ['running when it drains'];
  const answers = [running];
  for (let isWaiting = false; !isWaiting; ) {
    const before = hold.held.length;
    const text = `waits for the next worker, ${before}`;
    texts.push(text);
    answers.push(ask(text));
    isWaiting = await until('it waits or runs', async () => {
      if ((await gateway.backlog('openai')) === 1) return { waits: true };
      return hold.held.length > before && { waits: false };
    }).then(({ waits }) => waits);
  }
  t.is(old.child.exitCode, null);
  await gateway.addWorker();
  await until('its call', () => hold.held.length === texts.length);
  hold.release();
  for (const { status } of await Promise.all(answers)) t.is(status, 200);
  t.is(await exitOf(old), 0);
  for (const text of texts) t.is(callsFor(gateway.simulator, text).length, 1, text);
});

test.serial('a second signal ends a draining process at once', async (t) => {
  const api = await gateway.addApi();
  const worker = await gateway.addWorker();
  await gateway.workers.shift()?.end();
  const cut = t.throwsAsync(ask('cut off', api.url), { any: true });
  await until('the call', () => hold.held.length === 1);
  for (const process of [api, worker]) {
    process.child.kill('SIGTERM');
    await until('readiness red', async () => (await statusOf(`${process.url}/readyz`)) !== 200);
    // Signals within half a second are one: Ctrl-C under npm arrives twice.
    const ended = exitOf(process);
    const again = setInterval(() => process.child.kill('SIGTERM'), 200);
    t.is(await ended, 1);
    clearInterval(again);
  }
  await cut;
  gateway.apis.pop();
  gateway.workers.splice(0);
  await gateway.addWorker();
});

// The last one: Redis does not come back.
test.serial('a process ends although Redis is gone', async (t) => {
  hold.release();
  await gateway.redisServer.stop('SIGKILL');
  const processes = [...gateway.apis, ...gateway.workers];
  for (const { child } of processes) child.kill('SIGTERM');
  t.deepEqual(
    await Promise.all(processes.map(exitOf)),
    processes.map(() => 0),
  );
});
