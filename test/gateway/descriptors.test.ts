/** A process that runs out of file descriptors says so, and does not blame a provider for it. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { type Gateway, startProcesses, type TestProcess } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { scrape, sumOf } from '../helpers/scrape.js';
import { sluiceOf } from '../helpers/sluice.js';
import { until } from '../helpers/until.js';

let gateway: Gateway;
test.before(async () => {
  gateway = await startProcesses({
    providers: { openai: { circuit_failures: 2 } },
    routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
  });
});
test.after.always(() => gateway?.stop());

const openBy = ({ child }: TestProcess) => readdirSync(`/proc/${child.pid}/fd`).length;
const allow = ({ child }: TestProcess, limit: number) =>
  execFileSync('prlimit', ['--pid', String(child.pid), `--nofile=${limit}:`]);

async function readyz({ metricsUrl }: TestProcess): Promise<{ status: number; text: string }> {
  const response = await fetch(`${metricsUrl}/readyz`, { headers: { connection: 'close' } });
  return { status: response.status, text: await response.text() };
}

const ask = () => gateway.chat({ model: 'fast', messages: [{ role: 'user', content: 'Hello' }] });

test.serial('a worker that is short of descriptors is not ready, and says why', async (t) => {
  const [worker] = gateway.workers;
  if (!worker) return t.fail();
  // One is taken by who asks.
  allow(worker, openBy(worker) + 3);
  const red = await until('a worker that is not ready', async () => {
    const answer = await readyz(worker);
    return answer.status === 503 && answer;
  });
  t.regex(red.text, /short of file descriptors \(\d+ of \d+ are open\)/);
  await until('the status', async () =>
    /^worker .*: short of file descriptors/m.test((await sluiceOf(gateway)(['status'])).out),
  );
  await until('the line', () => /short of file descriptors: connections may be reset/.test(gateway.output()));

  allow(worker, 1_024);
  await until('a worker that is ready', async () => (await readyz(worker)).status === 200);
  await until('the line', () => /enough file descriptors again/.test(gateway.output()));
});

test.serial('a call that finds no descriptor is our failure, and opens no circuit', async (t) => {
  const [worker] = gateway.workers;
  if (!worker) return t.fail();
  const limit = 2;
  allow(worker, limit);
  const answers = await Promise.all(Array.from({ length: 8 }, ask));
  allow(worker, 1_024);
  const failed = answers.filter(({ status }) => status !== 200);
  t.true(failed.length > 2, 'more than open a circuit');
  for (const { status, body } of failed) {
    t.is(status, 503);
    t.is(body.error.code, 'service_unavailable');
    t.regex(body.error.message, /short of connections/);
  }
  const outcomes = (await gateway.log()).flatMap(({ attempts }) => attempts.map(({ outcome }) => outcome));
  t.deepEqual(new Set(outcomes.filter((outcome) => outcome !== 'ok')), new Set(['internal_error']));
  t.notRegex(gateway.output(), /circuit changed/);
  t.is((await ask()).status, 200);
});

test.serial('an api closes what is above its connections, and tells of it', async (t) => {
  // Its limit of connections is made from its descriptors when it starts.
  const small = await gateway.addApi({}, { descriptors: 160 });
  const { hostname, port } = new URL(small.url);
  const sockets: Socket[] = [];
  let closed = 0;
  const open = async () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.on('close', () => closed++);
    sockets.push(socket);
    await once(socket, 'connect');
  };
  for (let i = 0; i < 120; i++) await open();
  await until('those above the limit are closed', () => closed >= 10);
  // It tells of it for a few seconds after the last one.
  const { text } = await until('an api that is not ready', async () => {
    await open();
    const answer = await readyz(small);
    return answer.status === 503 && answer;
  });
  t.regex(text, /too many connections \(the most is 88\)/);
  t.true((sumOf(await scrape(small), 'gateway_connections_dropped_total') ?? 0) >= 10);
  await until('the line', () => /too many connections: new ones are closed/.test(gateway.output()));
  for (const socket of sockets) socket.destroy();
});
