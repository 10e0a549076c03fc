/** Wrong keys and foreign hosts: slowed down, logged with their address, counted, and in nobody else's way. */
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { openRaw } from '../helpers/raw-http.js';
import { scrape, sumOf } from '../helpers/scrape.js';
import { until } from '../helpers/until.js';

let gateway: Gateway;
test.before(async () => {
  gateway = await startGateway({ env: { ADMIN_HOSTS: 'gateway.internal, other.internal' } });
});
test.after.always(() => gateway?.stop());

const WRONG = `sk-gw-${'x'.repeat(43)}`;

async function statusOf(url: string, token: string): Promise<number> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  await response.arrayBuffer();
  return response.status;
}

const counted = async (listener: string) =>
  sumOf(await scrape({ metricsUrl: gateway.apis[0]?.metricsUrl ?? '' }), 'gateway_wrong_keys_total', {
    listener,
  });

// A slow machine takes a while to send them all, and meanwhile more of them may be answered, or even all.
for (const { listener, burst, more, path } of [
  { listener: 'admin', burst: 10, more: 70, path: '/status' },
  { listener: 'public', burst: 100, more: 400, path: '/v1/models' },
]) {
  test.serial(
    `${listener}: many wrong keys of one address are answered slowly or not at all, and a right one is not`,
    async (t) => {
      const url = (listener === 'admin' ? gateway.adminUrl : gateway.url) + path;
      const right = listener === 'admin' ? gateway.adminToken : gateway.key;
      const before = (await counted(listener)) ?? 0;
      const statuses: number[] = [];
      while (!statuses.includes(429)) {
        const answers = Array.from({ length: burst + more }, () => statusOf(url, WRONG));
        t.is(await statusOf(url, right), 200);
        statuses.push(...(await Promise.all(answers)));
      }
      t.true(statuses.every((status) => status === 401 || status === 429));
      t.true(statuses.filter((status) => status === 401).length >= burst);
      t.is(await counted(listener), before + statuses.length);
      const line = await until('the line', () =>
        gateway
          .output()
          .split('\n')
          .find((line) => line.includes('wrong keys') && line.includes(`"listener":"${listener}"`)),
      );
      t.like(JSON.parse(line), { address: '127.0.0.1', level: 'warn' });
      t.false(gateway.output().includes(WRONG));
    },
  );
}

test.serial('a request without a key is refused, and is no wrong key', async (t) => {
  const before = await counted('public');
  const { status } = await fetch(`${gateway.url}/v1/models`);
  t.is(status, 401);
  t.is(await counted('public'), before);
});

for (const [host, status] of [
  ['evil.example', 400],
  ['evil.example:8081', 400],
  ['127.0.0.1.evil.example', 400],
  ['localhost.evil.example', 400],
  ['@', 400],
  ['evil@localhost', 400],
  ['evil:pass@127.0.0.1', 400],
  ['localhost/evil', 400],
  ['localhost?evil', 400],
  ['localhost:1234', 200],
  ['LOCALHOST', 200],
  ['127.0.0.1', 200],
  ['[::1]:8081', 200],
  ['gateway.internal', 200],
  ['other.internal:81', 200],
] as const) {
  test(`the admin listener answers Host ${host} with ${status}`, async (t) => {
    const request = `GET /status HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${gateway.adminToken}\r\nconnection: close\r\n\r\n`;
    const [answer] = await openRaw(gateway.adminUrl, request).end();
    t.is(answer?.status, status, answer?.text);
    if (status === 400) t.is(JSON.parse(answer?.text ?? '').error.code, 'invalid_request');
  });
}
