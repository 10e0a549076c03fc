/** Reading a provider's list of models, from a server that may answer anything. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseConfig } from '@sluice/shared/config/config';
import { type ListedModel, listModels } from '@sluice/worker/calls/list-models';
import { createUpstream } from '@sluice/worker/calls/upstreams';
import test from 'ava';
import { createJsonServer, type JsonServer } from '../helpers/json-server.js';

const KEY = 'sk-of-the-list';

let server: JsonServer;
let strayed = 0;
test.before(async () => {
  server = await createJsonServer({
    '/good/models': ({ headers }: IncomingMessage, response: ServerResponse) => {
      const isMine = headers.authorization === `Bearer ${KEY}`;
      response.writeHead(isMine ? 200 : 401).end(JSON.stringify({ data: [{ id: 'm-1', created: 7 }] }));
    },
    '/marked/models': (_: unknown, response: ServerResponse) =>
      response.end('\uFEFF{"data":[{"id":"m-1","created":7}]}'),
    '/moved/models': (_: unknown, response: ServerResponse) =>
      response.writeHead(307, { location: '/elsewhere' }).end(),
    '/elsewhere': (_: unknown, response: ServerResponse) => {
      strayed++;
      response.end('{}');
    },
    '/large/models': (_: unknown, response: ServerResponse) =>
      response.end(`{"data":"${'x'.repeat(9 * 1024 * 1024)}"}`),
    '/words/models': (_: unknown, response: ServerResponse) => response.end('not JSON'),
    '/upgraded/models': ({ socket }: IncomingMessage) =>
      socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n'),
    // Without a length, only the end of the connection ends it. What has come by then is whole JSON.
    '/endless/models': ({ socket }: IncomingMessage) => socket.write('HTTP/1.1 200 OK\r\n\r\n{"data":[]}'),
    '/torn/models': (_: unknown, response: ServerResponse) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"data":', () => response.destroy());
    },
  });
});
test.after.always(() => server.close());

/** A busy machine may take its time. */
async function listAt(baseUrl: string, timeoutMs = 3_600_000): Promise<ListedModel[]> {
  const own = { kind: 'openai', base_url: baseUrl, models_path: '/models', api_key: '${KEY}' };
  const [config] = parseConfig({ providers: { own } }, {}).providers.values();
  if (!config) throw new Error('no provider');
  const upstream = createUpstream(config, KEY, {
    env: () => ({}),
    answerFits: () => async () => true,
    onFetched: () => {},
  });
  try {
    return await listModels(upstream, timeoutMs);
  } finally {
    await upstream.http.close();
  }
}

test('the list is read with the provider’s key', async (t) => {
  t.deepEqual(await listAt(`${server.url}/good`), [{ id: 'm-1', created: 7 }]);
});

test('a list may begin with a byte order mark', async (t) => {
  t.deepEqual(await listAt(`${server.url}/marked`), [{ id: 'm-1', created: 7 }]);
});

test('a redirect is not followed, so that the key goes nowhere else', async (t) => {
  await t.throwsAsync(listAt(`${server.url}/moved`), { message: 'own answered 307 to its model list' });
  t.is(strayed, 0);
});

for (const [what, path, message] of [
  ['a list that is too large', 'large', /too large/],
  ['a list that is not JSON', 'words', /is not JSON/],
  ['a list that breaks off', 'torn', /aborted/],
  ['another protocol instead of a list', 'upgraded', /without an answer/],
  ['an address without a list', 'nothing', /answered 404/],
] as const)
  test(`${what} is a failure`, async (t) => {
    await t.throwsAsync(listAt(`${server.url}/${path}`), { message });
  });

test('a list that does not end in time is a failure', async (t) => {
  await t.throwsAsync(listAt(`${server.url}/endless`, 500), { name: 'TimeoutError', any: true });
});

test('a server that is away is a failure', async (t) => {
  await t.throwsAsync(listAt('http://127.0.0.1:1'), { code: 'ECONNREFUSED' });
});
