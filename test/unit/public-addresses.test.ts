import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fetchDocument } from '@sluice/api/cell/fetch-document';
import { isPublic } from '@sluice/shared/process/is-public';
import test from 'ava';

for (const address of ['8.8.8.8', '2001:4860:4860::8888', '::ffff:8.8.8.8'])
  test(`${address} is public`, (t) => t.true(isPublic(address)));

for (const address of [
  '127.0.0.1',
  '127.8.8.8',
  '0.0.0.0',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '169.254.169.254',
  '100.100.100.200',
  '168.63.129.16',
  '::ffff:168.63.129.16',
  '192.0.0.192',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::ffff:169.254.169.254',
  'fe80::1',
  'fec0::1',
  'fd00:ec2::254',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  'localhost',
  '',
])
  test(`${address || 'nothing'} is not public`, (t) => t.false(isPublic(address)));

test('a document is not fetched from this machine, whatever it is called, unless that is allowed', async (t) => {
  const server = createServer((_, response) => response.end('{"models": []}')).listen(0);
  await once(server, 'listening');
  t.teardown(() => server.close());
  let connections = 0;
  server.on('connection', () => connections++);
  const { port } = server.address() as AddressInfo;
  for (const host of [
    '127.0.0.1',
    'localhost',
    '[::1]',
    '2130706433',
    '0x7f.1',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
  ]) {
    const url = `http://${host}:${port}/`;
    await t.throwsAsync(
      fetchDocument(url, { allowPrivate: false }),
      { message: /the address is private/, code: 'refresh_failed' },
      host,
    );
  }
  t.is(connections, 0, 'nothing was even connected');
  t.deepEqual(await fetchDocument(`http://127.0.0.1:${port}/`, { allowPrivate: true }), { models: [] });
});
