import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

type Line = Record<string, unknown>;

const PROMPT = 'canary-prompt-of-the-log-test';
const REQUEST = [
  'level',
  'time',
  'role',
  'pid',
  'msg',
  'requestId',
  'method',
  'path',
  'status',
  'code',
  'ms',
];
const KNOWN_CALLER = [...REQUEST, 'workspace', 'keyId'];
const ANSWERED = [...KNOWN_CALLER, 'route', 'queueMs', 'attempts'];
const SERVED = [...ANSWERED, 'provider', 'model', 'latencyMs', 'costUsd'];
const ATTEMPT = [
  ...['level', 'time', 'role', 'pid', 'msg', 'requestId', 'workspace', 'route', 'entry', 'queueMs'],
  ...['provider', 'model', 'outcome', 'ms', 'upstreamId'],
];

let gateway: Gateway;
test.before(async () => {
  gateway = await startGateway({ env: { LOG_LEVEL: 'debug' } });
  gateway.simulator.script({
    match: { provider: 'openai', textIncludes: 'fall back' },
    action: { status: 500 },
  });
});
test.after.always(() => gateway?.stop());

const lines = (): Line[] =>
  gateway
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line);

/** The lines about a request, once there are so many: the processes write them in blocks. */
const linesOf = (requestId: string | null, count: number) =>
  until(`${count} lines of ${requestId}`, () => {
    const found = lines().filter((line) => line.requestId === requestId);
    return found.length >= count && found;
  });

const ask = (text: string, init = {}) =>
  gateway.chat({ model: 'fast', messages: [{ role: 'user', content: `${PROMPT} ${text}` }] }, init);

const fieldsOf = (line: Line | undefined) => Object.keys(line ?? {}).sort();

test('a request is one short line of the api, under the id the caller was told, and debugging adds one of a worker', async (t) => {
  const { headers } = await ask('hello');
  const found = await linesOf(headers.get('x-request-id'), 2);
  t.is(found.length, 2);
  const request = found.find(({ msg }) => msg === 'request');
  const attempt = found.find(({ msg }) => msg === 'attempt');
  t.deepEqual(fieldsOf(request), [...SERVED].sort());
  t.deepEqual(fieldsOf(attempt), [...ATTEMPT].sort());
  t.like(request, { level: 'info', role: 'api', status: 200, code: 'ok', route: 'fast', workspace: 'demo' });
  t.is(request?.costUsd, headers.get('x-gateway-cost-usd'));
  t.like(attempt, { level: 'debug', role: 'worker', provider: 'openai', outcome: 'ok', entry: 0 });
  const written = found.filter(({ level }) => level !== 'debug').map((line) => JSON.stringify(line).length);
  t.true(written.length === 1 && Math.max(...written) < 480, `${written} bytes at the level info`);
});

test('a request that fell back has a line for each attempt', async (t) => {
  const { headers } = await ask('fall back');
  const found = await linesOf(headers.get('x-request-id'), 3);
  t.like(
    found.find(({ msg }) => msg === 'request'),
    { fallbackUsed: true, attempts: 2, provider: 'anthropic' },
  );
  const [first, second] = found
    .filter(({ msg }) => msg === 'attempt')
    .sort((a, b) => Number(a.entry) - Number(b.entry));
  t.like(first, { level: 'warn', entry: 0, outcome: 'server_error', status: 500 });
  t.deepEqual(fieldsOf(first), [...ATTEMPT, 'said', 'status'].sort());
  t.deepEqual(fieldsOf(found.find(({ msg }) => msg === 'request')), [...SERVED, 'fallbackUsed'].sort());
  t.like(second, { level: 'debug', entry: 1, outcome: 'ok' });
});

test('what is refused is logged with its code, and nothing of what was sent', async (t) => {
  const stranger = await ask('hello', { key: `${gateway.key.slice(0, -4)}AAAA` });
  const [unknown] = await linesOf(stranger.headers.get('x-request-id'), 1);
  t.deepEqual(fieldsOf(unknown), [...REQUEST, 'reason'].sort());
  t.like(unknown, { status: 401, code: 'invalid_api_key', reason: 'key_unknown' });

  const wrong = await gateway.chat({ model: PROMPT, messages: [{ role: 'user', content: PROMPT }] });
  const [notFound] = await linesOf(wrong.headers.get('x-request-id'), 1);
  t.deepEqual(fieldsOf(notFound), [...KNOWN_CALLER, 'reason'].sort());
  t.like(notFound, { status: 404, code: 'model_not_found', reason: 'unknown_model' });

  const lost = await fetch(`${gateway.url}/${PROMPT}?key=${gateway.key}`);
  const [other] = await linesOf(lost.headers.get('x-request-id'), 1);
  t.like(other, { status: 404, code: 'not_found', path: 'other' });
});

test('health checks are not logged, and no line has a prompt or a key', async (t) => {
  for (const path of ['/healthz', '/readyz']) await fetch(`${gateway.url}${path}`);
  const { headers } = await ask('goodbye');
  await linesOf(headers.get('x-request-id'), 2);
  t.deepEqual(
    lines().filter(({ path }) => path === '/healthz' || path === '/readyz'),
    [],
  );
  t.false(gateway.output().includes(PROMPT));
  t.false(gateway.output().includes(gateway.key));
});

test('LOG_REQUESTS=errors leaves out the lines of requests that went well', async (t) => {
  const { url, end } = await gateway.addApi({ LOG_REQUESTS: 'errors' });
  const served = await ask('hello', { url });
  const refused = await gateway.chat({ model: 'nobody-has-this' }, { url });
  t.deepEqual([served.status, refused.status], [200, 400]);
  await end();
  const requestLines = (id: string | null) =>
    lines().filter(({ requestId, msg }) => requestId === id && msg === 'request');
  t.is(requestLines(refused.headers.get('x-request-id')).length, 1);
  t.is(requestLines(served.headers.get('x-request-id')).length, 0);
});
