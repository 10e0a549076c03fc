import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { openRaw } from '../helpers/raw-http.js';
import { assertRefusal } from '../helpers/refusal.js';

/** Nobody else takes as long to send a request, also on a machine that stops for a while. */
const RECEIVE_TIMEOUT_MS = 12_000;
const BODY = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }] });
const LENGTH = `Content-Length: ${BODY.length}\r\n`;
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const CLOSE = 'Connection: close\r\n';

let gateway: Gateway;
test.before(async () => {
  gateway = await startGateway({ request: { receive_timeout_ms: RECEIVE_TIMEOUT_MS } });
});
test.after.always(() => gateway?.stop());
test.afterEach(async (t) => {
  t.is((await gateway.chat(BODY)).status, 200);
});

const get = (path: string, headers = '', version = '1.1') =>
  `GET ${path} HTTP/${version}\r\nHost: gateway\r\n${headers}\r\n`;
const post = (headers: string, body = '', version = '1.1') =>
  `POST /v1/chat/completions HTTP/${version}\r\nHost: gateway\r\nAuthorization: Bearer ${gateway.key}\r\n` +
  `Content-Type: application/json\r\n${headers}\r\n${body}`;
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

async function assertRefusedAndClosed(t: ExecutionContext, sent: string | Buffer, about: string) {
  const answers = await openRaw(gateway.url, sent).end();
  t.is(answers.length, 1, `${about}: ${JSON.stringify(answers.map(({ text }) => text))}`);
  const [answer] = answers;
  if (!answer) throw new Error('no answer');
  return assertRefusal(t, answer, about);
}

test('what could be read as two different requests is refused, and nothing after it is read', async (t) => {
  const smuggled = get('/v1/models', `Authorization: Bearer ${gateway.key}\r\n`);
  const ambiguous: Record<string, string> = {
    'content-length before transfer-encoding': post(`${LENGTH}${CHUNKED}`, `0\r\n\r\n${smuggled}`),
    'transfer-encoding before content-length': post(`${CHUNKED}${LENGTH}`, `0\r\n\r\n${smuggled}`),
    'two content-lengths': post(`${LENGTH}Content-Length: 3\r\n`, BODY + smuggled),
    'the same content-length twice': post(`${LENGTH}${LENGTH}`, BODY + smuggled),
    'a list of content-lengths': post(`Content-Length: 3, ${BODY.length}\r\n`, BODY + smuggled),
    'a negative content-length': post('Content-Length: -1\r\n', BODY),
    'a content-length with a sign': post(`Content-Length: +${BODY.length}\r\n`, BODY),
    'a hexadecimal content-length': post('Content-Length: 0x10\r\n', BODY),
    'a content-length beyond 64 bits': post('Content-Length: 99999999999999999999999\r\n', BODY),
    'an unknown transfer-encoding': post('Transfer-Encoding: xchunked\r\n', `${chunk(BODY)}0\r\n\r\n`),
    'a transfer-encoding after chunked': post(
      'Transfer-Encoding: chunked, identity\r\n',
      `${chunk(BODY)}0\r\n\r\n`,
    ),
    'a chunk size that is no number': post(CHUNKED, `zz\r\n${BODY}\r\n0\r\n\r\n`),
    'a chunk longer than its size': post(CHUNKED, `3\r\n${BODY}\r\n0\r\n\r\n`),
    'a chunk size without end': post(CHUNKED, `${'f'.repeat(5000)}\r\n`),
    'a chunk extension without end': post(CHUNKED, `2;${'a'.repeat(200_000)}\r\n{}\r\n0\r\n\r\n`),
    'line feeds alone': get('/v1/models').replaceAll('\r\n', '\n'),
    'a carriage return alone': get('/v1/models', 'X-A: b\rX-C: d\r\n'),
    'a folded header': get('/v1/models', 'X-A: b\r\n c\r\n'),
    'a space before the colon': get('/v1/models', 'X-A : b\r\n'),
    'a header without a colon': get('/v1/models', 'X-A\r\n'),
    'a NUL in a header': get('/v1/models', 'X-A: b\u0000c\r\n'),
    'a space in the path': 'GET /v1 /models HTTP/1.1\r\nHost: gateway\r\n\r\n',
  };
  for (const [name, sent] of Object.entries(ambiguous)) {
    t.is((await assertRefusedAndClosed(t, sent, name)).code, 'invalid_request', name);
  }
});

test('what is not HTTP is refused', async (t) => {
  const garbage: Record<string, string | Buffer> = {
    'random bytes': Buffer.from([0, 1, 2, 255, 254, 13, 10, 13, 10]),
    'a TLS hello': Buffer.from('1603010200010001fc0303', 'hex'),
    'an HTTP/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a version that is not there yet': get('/healthz', '', '9.9'),
    'a method in lower case': 'get /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n',
    'a method that nobody knows': 'BREW /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n',
    'a Redis command': '*1\r\n$4\r\nPING\r\n',
    'a line of text': 'hello there\r\n\r\n',
  };
  for (const [name, sent] of Object.entries(garbage)) {
    t.is((await assertRefusedAndClosed(t, sent, name)).code, 'invalid_request', name);
  }
});

test('headers over 16 KB are refused with 413', async (t) => {
  const tooLarge = {
    'one long header': get('/healthz', `X-A: ${'a'.repeat(20_000)}\r\n`),
    'many headers': get('/healthz', 'X-A: b\r\n'.repeat(5_000)),
    'a long path': get(`/${'a'.repeat(20_000)}`),
  };
  for (const [name, sent] of Object.entries(tooLarge)) {
    t.is((await assertRefusedAndClosed(t, sent, name)).code, 'request_too_large', name);
  }
});

test('a request that is addressed to nobody is refused', async (t) => {
  const answers = async (sent: string) => (await openRaw(gateway.url, sent).end())[0] ?? t.fail();
  const noHost = await answers(`GET /v1/models HTTP/1.1\r\n${CLOSE}\r\n`);
  t.is(assertRefusal(t, noHost, 'no host').code, 'invalid_request');
  for (const target of ['http://[/', 'http://a:b:c/', '*', '//[', '//evil/v1/models']) {
    const method = target === '*' ? 'OPTIONS' : 'GET';
    const answer = await answers(`${method} ${target} HTTP/1.1\r\nHost: gateway\r\n${CLOSE}\r\n`);
    t.is(assertRefusal(t, answer, target).code, 'not_found', target);
  }
});

test('CONNECT is refused with 405', async (t) => {
  const sent = 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n';
  t.is((await assertRefusedAndClosed(t, sent, 'CONNECT')).code, 'method_not_allowed');
});

test('a length that is far over the limit is refused at once', async (t) => {
  for (const length of ['11000000', '2147483648', '3000000000', '4294967296', '9007199254740993']) {
    const raw = openRaw(gateway.url, post(`Content-Length: ${length}\r\n`, '{'));
    const [answer] = await raw.answers(1);
    raw.socket.destroy();
    t.is(assertRefusal(t, answer ?? t.fail(), length).code, 'request_too_large', length);
  }
});

test('a connection that is silent, or a byte at a time, is cut with an answer', async (t) => {
  const dripped = async (whole: string, from: number) => {
    const raw = openRaw(gateway.url, whole.slice(0, from));
    const end = raw.end();
    for (let i = from; i < whole.length && raw.socket.writable; i++) {
      raw.socket.write(whole.slice(i, i + 1));
      await sleep(100);
    }
    return end;
  };
  const slow: Record<string, Promise<Awaited<ReturnType<typeof dripped>>>> = {
    'no byte at all': dripped('', 0),
    'half a head and then nothing': dripped('GET /v1/mod', 11),
    'a head a byte at a time': dripped(get('/v1/models', 'X-A: '.padEnd(600, 'a')), 1),
    'a body that never comes': dripped(post(LENGTH), post(LENGTH).length),
    'a body a byte at a time': dripped(post('Content-Length: 5000\r\n', ' '.repeat(300)), 250),
    'a chunk at a time': dripped(post(CHUNKED, '1\r\n \r\n'.repeat(100)), 250),
  };
  for (const [name, answers] of Object.entries(slow)) {
    const [answer, ...others] = await answers;
    t.deepEqual(others, [], name);
    const { code, message } = assertRefusal(t, answer ?? t.fail(name), name);
    t.is(code, 'invalid_request', name);
    t.regex(message, /too slowly/, name);
    t.is(answer?.headers.get('x-should-retry'), 'true', name);
  }
});

test('a caller may wait for its answer longer than it may take to send', async (t) => {
  gateway.simulator.script({
    match: { textIncludes: 'take your time' },
    action: { delayMs: RECEIVE_TIMEOUT_MS + 1_500 },
  });
  const body = BODY.replace('Hi', 'take your time');
  const [answer] = await openRaw(gateway.url, post(`Content-Length: ${body.length}\r\n${CLOSE}`, body)).end();
  t.is(answer?.status, 200, answer?.text);
});

test('a body in many small chunks is read whole', async (t) => {
  const chunks = [...BODY].map(chunk).join('');
  const [answer] = await openRaw(
    gateway.url,
    post(`${CHUNKED}${CLOSE}`, `${chunks}0\r\nX-Trailer: x\r\n\r\n`),
  ).end();
  t.is(answer?.status, 200, answer?.text);
});

test('pipelined requests are answered in their order', async (t) => {
  const bad = post('Content-Length: 1\r\n', '{');
  const sent = [
    get('/healthz'),
    post(LENGTH, BODY),
    bad,
    get('/nothing'),
    post(LENGTH, BODY),
    get('/v1/models', CLOSE),
  ];
  const answers = await openRaw(gateway.url, sent.join('')).end();
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 400, 404, 200, 401],
  );
  t.is(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size, sent.length);
});

test('a connection serves on after a refusal', async (t) => {
  const raw = openRaw(gateway.url, post('Content-Length: 2\r\n', '{]'));
  t.is((await raw.answers(1))[0]?.status, 400);
  raw.socket.write(post(`Content-Length: 2\r\nContent-Encoding: gzip\r\n`, 'xx'));
  t.is((await raw.answers(2))[1]?.status, 415);
  raw.socket.write(post(`${LENGTH}${CLOSE}`, BODY));
  t.is((await raw.end())[2]?.status, 200);
});

test('a caller that expects to be told to go on is told so, and any other expectation is none', async (t) => {
  const raw = openRaw(gateway.url, post(`${LENGTH}${CLOSE}Expect: 100-continue\r\n`));
  t.is((await raw.answers(1))[0]?.status, 100);
  raw.socket.write(BODY);
  t.is((await raw.end())[1]?.status, 200);

  const [other] = await openRaw(gateway.url, post(`${LENGTH}${CLOSE}Expect: a-miracle\r\n`, BODY)).end();
  t.is(other?.status, 200);
});

test('HTTP/1.0 is served, with or without a host, and the connection closed', async (t) => {
  const [chat] = await openRaw(gateway.url, post(LENGTH, BODY, '1.0')).end();
  t.is(chat?.status, 200);
  const [health] = await openRaw(gateway.url, 'GET /healthz HTTP/1.0\r\n\r\n').end();
  t.is(health?.status, 200);
  const [models] = await openRaw(gateway.url, 'GET /v1/models HTTP/1.0\r\n\r\n').end();
  t.is(assertRefusal(t, models ?? t.fail(), 'HTTP/1.0').code, 'invalid_api_key');
});

test('an upgrade that is not on offer is an ordinary request', async (t) => {
  for (const protocol of ['websocket', 'h2c', 'TLS/1.0']) {
    const raw = openRaw(gateway.url, get('/v1/models', `Connection: Upgrade\r\nUpgrade: ${protocol}\r\n`));
    const [answer] = await raw.answers(1);
    raw.socket.destroy();
    t.is(assertRefusal(t, answer ?? t.fail(), protocol).code, 'invalid_api_key', protocol);
  }
});

test('a refusal for the key or the length comes before the caller is told to send its body', async (t) => {
  const expect = 'Expect: 100-continue\r\n';
  const wrongKey = post(`${LENGTH}${expect}`).replace(gateway.key, 'not-a-key');
  const tooLong = post(`Content-Length: 11000000\r\n${expect}`);
  const wrongType = post(`${LENGTH}${expect}`).replace('application/json', 'text/plain');
  for (const [sent, code] of [
    [wrongKey, 'invalid_api_key'],
    [tooLong, 'request_too_large'],
    [wrongType, 'unsupported_media_type'],
  ] as const) {
    const [answer, ...others] = await openRaw(gateway.url, sent).end();
    t.is(assertRefusal(t, answer ?? t.fail(), code).code, code);
    t.deepEqual(others, [], code);
    t.is(answer?.headers.get('connection'), 'close', code);
  }
});

test('a caller that was told to go on may use its connection again', async (t) => {
  const raw = openRaw(gateway.url, post(`${LENGTH}Expect: 100-continue\r\n`));
  t.is((await raw.answers(1))[0]?.status, 100);
  raw.socket.write(BODY);
  t.is((await raw.answers(2))[1]?.status, 200);
  raw.socket.write(get('/healthz', CLOSE));
  t.is((await raw.end())[2]?.status, 200);
});

test('two Authorization or Host headers are refused, even when both say the same', async (t) => {
  const key = `Authorization: Bearer ${gateway.key}\r\n`;
  for (const [name, sent] of Object.entries({
    Authorization: get('/v1/models', `${key}${key}${CLOSE}`),
    'Authorization in another case': get('/v1/models', `${key}${key.toLowerCase()}${CLOSE}`),
    Host: get('/v1/models', `${key}HOST: gateway\r\n${CLOSE}`),
  })) {
    const { code, message } = await assertRefusedAndClosed(t, sent, name);
    t.is(code, 'invalid_request', name);
    t.regex(message, new RegExp(`two ${name.split(' ')[0]} headers`), name);
  }
});

const closing = (sent: string) => {
  const raw = openRaw(gateway.url, sent);
  raw.socket.end();
  return raw.end();
};

test('a caller that closes its side in mid-request is told so', async (t) => {
  for (const sent of ['POST /v1/chat/comp', post(LENGTH, BODY.slice(0, 10)), post(CHUNKED, '5\r\nabc')]) {
    const [answer] = await closing(sent);
    t.is(assertRefusal(t, answer ?? t.fail(), sent.slice(0, 20)).code, 'invalid_request');
  }
  t.deepEqual(await closing(''), []);
});

test('a caller that closes its side after the request is answered, however long that takes', async (t) => {
  const statuses = async (sent: string) => (await closing(sent)).map(({ status }) => status);
  const final = (all: number[]) => all.filter((status) => status !== 100);
  t.deepEqual(final(await statuses(post(LENGTH, BODY))), [200]);
  t.deepEqual(
    final(await statuses(get('/healthz') + post(LENGTH, BODY) + post(LENGTH, BODY))),
    [200, 200, 200],
  );

  gateway.simulator.script({ match: { textIncludes: 'half-closed' }, action: { delayMs: 1_500 } });
  const body = BODY.replace('Hi', 'half-closed');
  const waited = await statuses(post(`Content-Length: ${body.length}\r\n`, body));
  t.deepEqual(final(waited), [200]);
  // Go's client gives up at the sixth.
  t.true(waited.length <= 4, `${waited}`);
});

test('a caller of HTTP/1.0 that closes its side has hung up', async (t) => {
  t.deepEqual(await closing(post(LENGTH, BODY, '1.0')), []);
});

test('many requests at once on one connection, which is then closed on one side, are all answered', async (t) => {
  const answers = await closing(post(LENGTH, BODY).repeat(15));
  t.is(answers.filter(({ status }) => status === 200).length, 15);
  t.notRegex(gateway.output(), /MaxListenersExceeded/);
});

test('callers that vanish in mid-request leave the gateway serving', async (t) => {
  for (let i = 0; i < 50; i++) {
    const raw = openRaw(gateway.url, post(LENGTH, BODY.slice(0, i)));
    raw.socket.once('connect', () => raw.socket.resetAndDestroy());
    await raw.end();
  }
  t.is((await gateway.chat(BODY)).status, 200);
});
