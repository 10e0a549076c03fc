import { requireReadable, sentinelOptions } from '@sluice/shared/redis/address';
import test from 'ava';

test('a plain address has no Sentinels', (t) => {
  t.is(sentinelOptions('redis://127.0.0.1:6379/1'), undefined);
  t.is(sentinelOptions('rediss://user:secret@host:6380'), undefined);
});

test('the name of the primary, its Sentinels, and how to sign in are read', (t) => {
  const { sentinelRetryStrategy, ...options } =
    sentinelOptions('redis+sentinel://api:p%40ss@main/2?sentinels=a:26380,b&sentinel_password=s') ?? {};
  t.deepEqual(options, {
    name: 'main',
    sentinels: [
      { host: 'a', port: 26_380 },
      { host: 'b', port: 26_379 },
    ],
    username: 'api',
    password: 'p@ss',
    sentinelPassword: 's',
    db: 2,
  });
  t.is(sentinelRetryStrategy?.(1), 50);
  t.is(sentinelRetryStrategy?.(100), 1_000);
});

test('rediss+sentinel is TLS to Redis', (t) => {
  t.like(sentinelOptions('rediss+sentinel://main?sentinels=a'), { enableTLSForSentinelMode: true, tls: {} });
});

test('Sentinels may speak TLS, too', (t) => {
  const url = 'rediss+sentinel://main?sentinels=a';
  t.like(sentinelOptions(`${url}&sentinel_tls=true`), { sentinelTLS: {} });
  t.false('sentinelTLS' in (sentinelOptions(url) ?? {}));
});

test('an address without Sentinels is refused with how to write it, and without its password', (t) => {
  for (const url of ['redis+sentinel://:secret@main', 'redis+sentinel://:secret@main?sentinels=']) {
    const error = t.throws(() => sentinelOptions(url), { message: /sentinels=<host:port>/ });
    t.false(error.message.includes('secret'));
  }
});

test('a database that is no number, and a password that cannot be read, are refused without the password', (t) => {
  for (const url of ['redis://h:1/abc', 'redis://h:1/-1', 'redis://h:1?db=x', 'redis://u:secret%zz@h:1']) {
    const error = t.throws(() => requireReadable(url), { message: /REDIS_URL/ });
    t.false(error.message.includes('secret'));
  }
  for (const url of [
    'redis://h:1',
    'redis://h:1/',
    'redis://u:p%23@h:1/15',
    'redis+sentinel://main/0?sentinels=a',
  ])
    t.notThrows(() => requireReadable(url));
});
