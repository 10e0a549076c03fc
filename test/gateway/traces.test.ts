import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseTraceparent } from '@sluice/shared/tracing/trace-context';
import { bodyOf } from '../helpers/body-of.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

interface Span {
  service: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  start: number;
  end: number;
  failed: boolean;
  attributes: Record<string, unknown>;
}

const PROMPT = 'canary-prompt-of-the-trace-test';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

let collector: Server;
let gateway: Gateway;
const spans: Span[] = [];
let received = '';

test.before(async () => {
  collector = createServer(async (request, response) => {
    const text = await bodyOf(request);
    if (text === undefined) return;
    received += text;
    if (request.url === '/v1/traces') spans.push(...readSpans(text));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  // A process that stops for a while must not find its connection closed: it sends spans once.
  collector.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = collector.address() as AddressInfo;
  gateway = await startGateway({
    // The line of a worker about a call that went well is for debugging.
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, LOG_LEVEL: 'debug' },
  });
  gateway.simulator.script({
    match: { provider: 'openai', textIncludes: 'fall back' },
    action: { status: 500 },
  });
});
test.after.always(async () => {
  await gateway?.stop();
  collector?.close();
});

function readSpans(text: string): Span[] {
  // biome-ignore lint/suspicious/noExplicitAny: OTLP as it comes
  const { resourceSpans } = JSON.parse(text) as any;
  return resourceSpans.flatMap(({ resource, scopeSpans }: Record<string, never[] | { attributes: [] }>) =>
    // biome-ignore lint/suspicious/noExplicitAny: OTLP as it comes
    (scopeSpans as any[]).flatMap(({ spans }) =>
      // biome-ignore lint/suspicious/noExplicitAny: OTLP as it comes
      spans.map((span: any) => ({
        ...span,
        service: toObject((resource as { attributes: [] }).attributes)['service.name'],
        start: Number(span.startTimeUnixNano) / 1e6,
        end: Number(span.endTimeUnixNano) / 1e6,
        failed: span.status.code === 2,
        attributes: toObject(span.attributes),
      })),
    ),
  );
}

function toObject(attributes: { key: string; value: Record<string, unknown> }[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

const ask = (text: string, headers: Record<string, string> = {}) =>
  gateway.chat({ model: 'fast', messages: [{ role: 'user', content: `${PROMPT} ${text}` }] }, { headers });

/** All spans of the trace in which the request with this id is, once there are so many. */
const traceOf = (requestId: string | null, count: number) =>
  until(`${count} spans of ${requestId}`, () => {
    const traceId = spans.find(({ attributes }) => attributes['gateway.request_id'] === requestId)?.traceId;
    const found = spans.filter((span) => span.traceId === traceId);
    return found.length >= count && found;
  });

test('a caller’s trace goes on through api, queue and provider call', async (t) => {
  const { headers } = await ask('hello', { traceparent: `00-${TRACE}-${PARENT}-01` });
  const found = await traceOf(headers.get('x-request-id'), 3);
  const [server, queue, call] = ['POST /v1/chat/completions', 'queue openai', 'chat gpt-4o-mini'].map(
    (name) => found.find((span) => span.name === name),
  );
  if (!server || !queue || !call) return t.fail(JSON.stringify(found));
  for (const span of [server, queue, call]) {
    t.is(span.traceId, TRACE);
    t.true(span.end >= span.start);
    t.false(span.failed);
  }
  t.is(server.parentSpanId, PARENT);
  t.is(queue.parentSpanId, server.spanId);
  t.is(call.parentSpanId, server.spanId);
  t.is(server.service, 'sluice-api');
  t.is(call.service, 'sluice-worker');
  t.like(server.attributes, { 'http.response.status_code': '200', 'gateway.workspace': 'demo' });
  t.like(call.attributes, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o-mini',
    'gateway.request_id': headers.get('x-request-id'),
  });
  t.true(Number(call.attributes['gen_ai.usage.input_tokens']) > 0);
  t.true(Number(call.attributes['gen_ai.usage.output_tokens']) > 0);
});

test('a request without a trace begins one, and a fallback is a second call in it', async (t) => {
  const { headers } = await ask('fall back');
  const found = await traceOf(headers.get('x-request-id'), 5);
  t.is(found.length, 5);
  t.is(found.find(({ name }) => name.startsWith('POST'))?.parentSpanId, undefined);
  const calls = found.filter(({ name }) => name.startsWith('chat ')).sort((a, b) => a.start - b.start);
  t.deepEqual(
    calls.map(({ failed, attributes }) => [failed, attributes['error.type']]),
    [
      [true, 'server_error'],
      [false, undefined],
    ],
  );
});

test('a trace that is not sampled is carried and not sent, and its id is in the log', async (t) => {
  const traceId = 'a'.repeat(32);
  const { headers } = await ask('quiet', { traceparent: `00-${traceId}-${PARENT}-00` });
  const id = headers.get('x-request-id');
  const lines = await until('two lines', () => {
    const found = gateway
      .output()
      .split('\n')
      .filter((line) => line.includes(`"requestId":"${id}"`));
    return found.length === 2 && found;
  });
  for (const line of lines) t.is(JSON.parse(line).traceId, traceId);
  const { headers: later } = await ask('after it');
  await traceOf(later.get('x-request-id'), 3);
  t.false(spans.some((span) => span.traceId === traceId));
});

test('no span has a prompt or a key', async (t) => {
  const { headers } = await ask('last');
  await traceOf(headers.get('x-request-id'), 3);
  for (const secret of [PROMPT, gateway.key, 'sk-test-openai']) t.false(received.includes(secret));
});

test('what is no traceparent is none', (t) => {
  for (const header of [
    '',
    'x',
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `ff-${TRACE}-${PARENT}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-0`,
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01${'-'.repeat(10_000)}`,
  ])
    t.is(parseTraceparent(header), undefined, header);
  t.deepEqual(parseTraceparent(`01-${TRACE}-${PARENT}-03-more`), {
    traceId: TRACE,
    spanId: PARENT,
    sampled: true,
  });
});
