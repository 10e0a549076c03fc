import { COMPLETION_HEADERS } from '@sluice/api/openapi/public-api';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';

const PAGE = 'https://app.example';
const CHAT = '/v1/chat/completions';

let open: Gateway;
let closed: Gateway;
test.before(async () => {
  open = await startGateway({ cors: { origins: ['https://APP.example:443'] } });
  closed = await startGateway();
});
test.after.always(() => Promise.all([open?.stop(), closed?.stop()]));

const preflight = (gateway: Gateway, origin: string) =>
  fetch(gateway.url + CHAT, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
    },
  });

test('a page of a listed origin may ask, and read the answer, errors and headers', async (t) => {
  const asked = await preflight(open, PAGE);
  t.is(asked.status, 204);
  t.is(asked.headers.get('access-control-allow-origin'), PAGE);
  t.regex(asked.headers.get('access-control-allow-methods') ?? '', /POST/);
  t.is(asked.headers.get('access-control-allow-headers'), 'authorization,content-type,x-stainless-lang');
  t.is(asked.headers.get('access-control-allow-credentials'), null);

  const body = { model: 'fast', messages: [{ role: 'user', content: 'Hi' }] };
  const answer = await open.chat(body, { headers: { origin: PAGE } });
  t.is(answer.status, 200);
  t.is(answer.headers.get('access-control-allow-origin'), PAGE);
  const exposed = (answer.headers.get('access-control-expose-headers') ?? '').split(',');
  const own = [...answer.headers.keys()].filter((name) => /^x-(?:gateway|request)-/.test(name));
  t.true(own.length >= 8);
  for (const name of own) {
    t.true(exposed.includes(name), `a page may read ${name}`);
    t.true(name in COMPLETION_HEADERS, `the OpenAPI document has ${name}`);
  }
  const refused = await open.chat({ model: 'fast' }, { headers: { origin: PAGE } });
  t.is(refused.status, 400);
  t.is(refused.headers.get('access-control-allow-origin'), PAGE);
});

test('a page of another origin may not', async (t) => {
  for (const origin of ['https://evil.example', 'http://app.example', 'null', `${PAGE}.evil.example`]) {
    const { headers } = await preflight(open, origin);
    t.is(headers.get('access-control-allow-origin'), null, origin);
  }
});

test('without a list no page may', async (t) => {
  for (const origin of [PAGE, 'null']) {
    const { headers } = await preflight(closed, origin);
    t.is(headers.get('access-control-allow-origin'), null, origin);
  }
});
