import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Span, Tracer } from '@sluice/shared/tracing/tracer';
import test from 'ava';
import { bodyOf } from '../helpers/body-of.js';
import { until } from '../helpers/until.js';

const SPAN: Span = { name: 'chat', kind: 'client', start: 1, end: 2, attributes: { 'gateway.entry': 0 } };

/** A collector that counts; one that hangs takes what it is sent and never answers. */
async function startCollector({ hangs = false } = {}) {
  let spans = 0;
  let posts = 0;
  const server: Server = createServer(async (request, response) => {
    posts++;
    const body = await bodyOf(request);
    if (body === undefined) return;
    spans += JSON.parse(body).resourceSpans[0].scopeSpans[0].spans.length;
    if (!hangs) response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans: () => spans,
    posts: () => posts,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

test('a collector that keeps up gets every span of a busy process', async (t) => {
  const collector = await startCollector();
  t.teardown(collector.stop);
  const tracer = new Tracer(collector.url, 'test');
  for (let sent = 500; sent <= 10_000; sent += 500) {
    for (let i = 0; i < 500; i++) tracer.record(SPAN, undefined);
    await until('most have arrived', () => collector.spans() > sent - 1_000);
  }
  await tracer.close();
  t.is(collector.spans(), 10_000);
});

test('of a collector that hangs, neither memory nor connections grow, and a process can leave it', async (t) => {
  const collector = await startCollector({ hangs: true });
  t.teardown(collector.stop);
  const tracer = new Tracer(collector.url, 'test');
  for (let i = 0; i < 100_000; i++) tracer.record(SPAN, undefined);
  await tracer.close();
  t.true(collector.posts() <= 5, `${collector.posts()} batches`);
  t.true(collector.spans() <= 4 * 512 + 2_048, `${collector.spans()} spans`);
});

test('a collector that refuses is no fault of anybody’s', async (t) => {
  const collector = await startCollector();
  collector.stop();
  const tracer = new Tracer(collector.url, 'test');
  for (let i = 0; i < 5_000; i++) tracer.record(SPAN, undefined);
  await t.notThrowsAsync(tracer.close());
});
