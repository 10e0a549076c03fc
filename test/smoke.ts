import { startGateway } from './helpers/gateway.js';

const g = await startGateway({
  workers: 2,
  apis: 2,
  routes: {
    fast: [{ provider: 'openai', model: 'gpt-4o-mini' }],
    careful: { on_crash: 'fail', chain: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
  },
  providers: { openai: { concurrency: 8 } },
});
const sleep = (ms: number) => new Promise((r) => setTimeout(r, ms));
const ask = (text: string, o = {}) =>
  g.chat({ model: 'fast', messages: [{ role: 'user', content: text }] }, o);
try {
  // 1 kill worker mid-call
  g.simulator.script({ match: { textIncludes: 'slow' }, action: { delayMs: 3000 } });
  let t0 = Date.now();
  const all = Promise.all(Array.from({ length: 6 }, (_, i) => ask(`slow ${i}`)));
  await sleep(500);
  await g.workers[0]?.end('SIGKILL');
  const res = await all;
  console.log(
    'kill worker',
    res.map((r) => r.status).join(),
    Date.now() - t0,
    'ms; calls',
    g.simulator.calls.length,
  );
  console.log((await g.log()).map((e) => e.attempts.map((a) => a.outcome).join('+')).join(' | '));
  await g.addWorker();
  // 2 idempotency
  g.simulator.reset();
  g.simulator.script({ match: { textIncludes: 'slow' }, action: { delayMs: 500 } });
  const idem = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      ask('slow idem', { headers: { 'idempotency-key': 'abc' }, url: g.urls[i % 2] }),
    ),
  );
  console.log(
    'idem',
    new Set(idem.map((r) => r.status + r.body.id)).size,
    'calls',
    g.simulator.calls.length,
    idem.filter((r) => r.headers.get('idempotent-replayed')).length,
  );
  const again = await ask('slow idem', { headers: { 'idempotency-key': 'abc' } });
  const conflict = await ask('other', { headers: { 'idempotency-key': 'abc' } });
  console.log(
    'replay',
    again.status,
    again.headers.get('idempotent-replayed'),
    'conflict',
    conflict.status,
    conflict.body.error.code,
    'calls',
    g.simulator.calls.length,
  );
  // 3 hang up
  g.simulator.reset();
  g.simulator.script({ match: { textIncludes: 'hang' }, action: { hang: true } });
  const c = new AbortController();
  const hung = ask('hang', { signal: c.signal }).catch((e) => e.name);
  await sleep(300);
  t0 = Date.now();
  c.abort();
  await hung;
  while (!g.simulator.calls[0]?.aborted) await sleep(5);
  console.log('hang-up: upstream closed after', Date.now() - t0);
  await sleep(100);
  console.log((await g.log()).at(-1));
  // 4 redis restart
  g.simulator.reset();
  g.simulator.script({ match: { textIncludes: 'slow' }, action: { delayMs: 2000 } });
  const waiting = Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      ask(`slow r${i}`).then(
        (r) => r.status,
        (e) => String(e),
      ),
    ),
  );
  await sleep(300);
  await g.redisServer.stop('SIGKILL');
  await sleep(200);
  t0 = Date.now();
  const during = await ask('during');
  console.log(
    'redis down:',
    during.status,
    during.body.error?.code,
    during.headers.get('retry-after'),
    Date.now() - t0,
    'ms',
  );
  await sleep(3000);
  const port = Number(new URL(g.redisServer.url).port);
  t0 = Date.now();
  await g.restartRedis(port);
  for (;;) {
    const r = await ask('up?');
    if (r.status === 200) break;
    await sleep(50);
  }
  console.log('serving again after', Date.now() - t0);
  console.log('waiting answered', (await waiting).join(), Date.now() - t0, 'calls', g.simulator.calls.length);
  // 5 flush
  g.simulator.reset();
  g.simulator.script({ match: { textIncludes: 'slow' }, action: { delayMs: 1500 } });
  const fl = Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      ask(`slow f${i}`).then(
        (r) => r.status,
        (e) => String(e),
      ),
    ),
  );
  await sleep(300);
  t0 = Date.now();
  await g.redis.flushall();
  console.log(
    'flushed: answered',
    (await fl).join(),
    Date.now() - t0,
    'calls',
    g.simulator.calls.length,
    'new request',
    (await ask('x')).status,
  );
} finally {
  await g.stop();
}
console.log(
  g
    .output()
    .split('\n')
    .filter((l) => l.includes('"level":40') || l.includes('"level":50'))
    .slice(0, 20)
    .join('\n'),
);
