import { readTags, readUser } from '@sluice/api/chat/tags';
import { GatewayError } from '@sluice/shared/errors';
import test from 'ava';

const request = (more: object = {}) => ({ model: 'm', messages: [], ...more });

test('tags come from the header and from metadata, and the header’s come first', (t) => {
  t.is(readTags('', request()), undefined);
  t.deepEqual(readTags('feature=search, customer=42', request()), { feature: 'search', customer: '42' });
  t.deepEqual(readTags('a=1', request({ metadata: { a: '2', b: '3' } })), { a: '1', b: '3' });
  t.deepEqual(readTags(' city = S%C3%A3o%2C Paulo ,', request()), { city: 'São, Paulo' });
  t.is(readUser(request({ user: 'u-1' })), 'u-1');
  t.is(readUser(request()), undefined);
});

test('of metadata that is not made of short texts, what fits is kept, up to sixteen tags in all', (t) => {
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`m${i}`, 'x']));
  t.is(Object.keys(readTags('a=1', request({ metadata: many })) ?? {}).length, 16);
  const odd = {
    n: 1,
    o: {},
    long: 'x'.repeat(513),
    'bad name': 'x',
    nul: 'a\0b',
    ok: 'yes',
    ['x'.repeat(65)]: 'y',
  };
  t.deepEqual(readTags('', request({ metadata: odd })), { ok: 'yes' });
  t.is(readUser(request({ user: 'x'.repeat(513) })), undefined);
});

test('tags have at most 2,048 bytes in all: a header with more is refused, and of metadata what fits is kept', (t) => {
  const wide = '\u{10ffff}'.repeat(256);
  t.is(Buffer.byteLength(wide), 1_024);
  const encoded = encodeURIComponent(wide);
  t.throws(() => readTags(`a=${encoded},b=${encoded}`, request()), { message: /2048 bytes/ });
  const metadata = { a: wide, b: wide, c: 'short' };
  t.deepEqual(readTags('', request({ metadata })), { a: wide, c: 'short' });
  t.deepEqual(readTags(`h=${encoded}`, request({ metadata })), { h: wide, c: 'short' });
});

test('what no database and no URL can hold is not logged', (t) => {
  const metadata = { nul: 'a\0', half: 'a\ud800', whole: 'a\u{1f4a9}' };
  t.deepEqual(readTags('', request({ metadata })), { whole: 'a\u{1f4a9}' });
  for (const user of ['a\0', '\udc00', '']) t.is(readUser(request({ user })), undefined);
});

test('a header of spaces is read in a time that grows with its length only', (t) => {
  const timeOf = (spaces: number) => {
    const header = `a=x${' '.repeat(spaces)}x`;
    const started = process.cpuUsage();
    t.throws(() => readTags(header, request()), { instanceOf: GatewayError });
    const { user } = process.cpuUsage(started);
    return user;
  };
  timeOf(1_000);
  // By the square it would be minutes.
  t.true(timeOf(1_000_000) < 5_000_000);
});

test('a header that is no list of tags is refused, with its name', (t) => {
  const tooMany = Array.from({ length: 17 }, (_, i) => `t${i}=x`).join(',');
  for (const header of ['feature', '=x', 'a b=c', 'a=', 'a=%zz', 'a=%00', `a=${'x'.repeat(513)}`, tooMany]) {
    const error = t.throws(() => readTags(header, request()), { instanceOf: GatewayError }, header);
    t.like(error, { code: 'invalid_request' });
    t.is(error.toInfo().param, 'x-gateway-tags');
  }
});
