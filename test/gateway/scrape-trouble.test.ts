/** Metrics, logs and spans while things go wrong, and while callers make things up. The collector of spans hangs throughout. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Gateway, startRealGateway, type TestProcess } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { type Sample, scrape, sumOf } from '../helpers/scrape.js';
import { until } from '../helpers/until.js';

const MADE_UP = 102;
const AT_ONCE = 20;

let collector: Server;
/** What the collector was sent and has not answered, until whoever sent it gives up. */
const unanswered = new Set<ServerResponse>();
let gateway: Gateway;
let api: TestProcess;
let worker: TestProcess;
test.before(async () => {
  collector = createServer((_request, response) => {
    unanswered.add(response);
    response.once('close', () => unanswered.delete(response));
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = collector.address() as AddressInfo;
  gateway = await startRealGateway({
    routes: { 'a/b:c@d': [{ provider: 'openai', model: 'gpt-4o"\\{}' }] },
    // The line of a worker about a call that went well is for debugging.
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, LOG_LEVEL: 'debug' },
  });
  [api, worker] = [gateway.apis[0], gateway.workers[0]] as [TestProcess, TestProcess];
});
test.after.always(async () => {
  await gateway?.stop();
  collector?.close();
  collector?.closeAllConnections();
});

const ask = (model: string, init = {}) =>
  gateway.chat({ model, messages: [{ role: 'user', content: 'hello' }] }, init);
const ours = (samples: readonly Sample[]) => samples.filter(({ name }) => name.startsWith('gateway_'));

test.serial('what callers make up makes no series: models, paths, methods, keys, traces', async (t) => {
  // Once of each kind, for the series that it is all counted in.
  const makeUp = (i: number) => [
    ask(`gpt-made-up-${i}`, { headers: { traceparent: `00-${i}-garbage` } }),
    ask(`no-such-model-${i}"}\\n`),
    ask('gpt-4o', { key: `gw_live_${i}` }),
    fetch(`${gateway.url}/path-${i}?x=${i}`, { method: i % 2 === 0 ? 'GET' : 'PROPFIND' }),
    fetch(`${gateway.url}/v1/models/model-${i}`, { headers: { authorization: `Bearer ${gateway.key}` } }),
  ];
  for (const i of [0, 1]) await Promise.all(makeUp(i));
  const count = async () => ours(await scrape(api)).length + ours(await scrape(worker)).length;
  const before = await count();
  for (let i = 2; i < MADE_UP; i += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, j) => Promise.all(makeUp(i + j))));
  t.is(await count(), before);
  await until('all of them are counted', async () => {
    const calls = sumOf(await scrape(worker), 'gateway_provider_requests_total', { model: 'other' });
    return (calls ?? 0) >= MADE_UP;
  });
});

test.serial(
  'a model whose name has every awkward character is a label that Prometheus can read',
  async (t) => {
    t.is((await ask('a/b:c@d')).status, 200);
    const text = await (await fetch(`${worker.metricsUrl}/metrics`)).text();
    t.true(text.includes('route="a/b:c@d",provider="openai",model="gpt-4o\\"\\\\{}"'));
    for (const line of text.split('\n').filter((line) => line.startsWith('gateway_')))
      t.regex(line, /^\w+(?:\{(?:\w+="(?:[^"\\]|\\[\\"n])*",?)*\})? [-+.\deE]+$/);
  },
);

test.serial(
  'every line of the log is JSON, and names its request as caller and request log do',
  async (t) => {
    const { headers } = await ask('gpt-4o-mini');
    const id = headers.get('x-request-id');
    await until('both lines', () => gateway.output().split(`"requestId":"${id}"`).length === 3);
    t.true((await gateway.log()).some((entry) => `req_${entry.id}` === id));
    for (const line of gateway.output().trimEnd().split('\n')) t.notThrows(() => JSON.parse(line), line);
  },
);

test.serial('a Redis that is full, frozen or gone does not keep a scrape from being answered', async (t) => {
  const { redisServer } = gateway;
  const redisUp = async () => sumOf(await scrape(api), 'gateway_redis_up');
  const ledgerBefore = sumOf(await scrape(api), 'gateway_ledger_cost_usd_total') ?? 0;
  t.true(ledgerBefore > 0);

  await gateway.redis.config('SET', 'maxmemory', '1');
  t.is(await redisUp(), 1, 'full');
  await gateway.redis.config('SET', 'maxmemory', '0');

  // Whatever is asked meanwhile would not be answered if it waited for Redis.
  process.kill(redisServer.pid, 'SIGSTOP');
  try {
    const frozen = await scrape(api);
    t.is(sumOf(frozen, 'gateway_redis_up'), 0, 'frozen');
    t.is(sumOf(frozen, 'gateway_queue_jobs'), undefined, 'no old number is shown');
    t.is(
      sumOf(frozen, 'gateway_ledger_cost_usd_total'),
      undefined,
      'a counter is left out rather than reset',
    );
    t.true((sumOf(frozen, 'gateway_http_requests_total', { code: 'ok' }) ?? 0) > 0);
    await scrape(worker);
  } finally {
    process.kill(redisServer.pid, 'SIGCONT');
  }
  await until('Redis answers again', async () => (await redisUp()) === 1);

  const port = Number(new URL(redisServer.url).port);
  await redisServer.stop('SIGKILL');
  t.is(await redisUp(), 0, 'gone');
  await scrape(worker);
  await gateway.restartRedis(port);
  await until('Redis is back', async () => (await redisUp()) === 1);
  t.true((sumOf(await scrape(api), 'gateway_ledger_cost_usd_total') ?? 0) >= ledgerBefore);
});

test.serial('the collector that hangs has delayed nobody', async (t) => {
  // A collector is given five seconds. If requests waited for it, none would be answered while it still has what was sent
  // before. On a busy machine some are late all the same.
  await until('an answer while the collector hangs', async () => {
    const before = [...unanswered];
    t.is((await ask('gpt-4o-mini')).status, 200);
    return before.some((response) => unanswered.has(response));
  });
});
