/** Signing in to the console without a page: sessions, sign-in links, who may not, and the view of the queues behind it. */
import { digestOf } from '@sluice/admin/access/secrets';
import { IDLE_MS, SESSION_MS } from '@sluice/admin/access/sessions';
import { adminOf, type CallAdmin } from '../helpers/admin.js';
import { BrowserLike } from '../helpers/browser-like.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { ownPort } from '../helpers/own-port.js';
import { until } from '../helpers/until.js';

const COOKIE = 'sluice-session';
const PROMPT = 'a secret that nobody but the provider may read';

let gateway: Gateway;
let admin: CallAdmin;
test.before(async () => {
  // A later process listens there again, so the system must not give it to another one meanwhile.
  gateway = await startGateway({
    env: { ADMIN_PORT: String(await ownPort()) },
    // A request waits while its queue is paused and looked at.
    providers: { openai: { max_wait_ms: 280_000 } },
  });
  admin = adminOf(gateway);
});
test.after.always(() => gateway?.stop());

async function signIn(url = gateway.adminUrl): Promise<BrowserLike> {
  const browser = new BrowserLike(url);
  await browser.ask('POST', '/session', { token: gateway.adminToken });
  return browser;
}

async function makeLink(): Promise<string> {
  const { body } = await admin('POST', '/sign-in-links');
  return body.path.replace('/#/sign-in/', '');
}

/** Every session as Redis has it. */
async function stored(): Promise<Record<string, string>> {
  return gateway.redis.hgetall(gateway.names.sessions);
}

test.serial('a token is exchanged for a cookie that no script and no other site can use', async (t) => {
  const browser = new BrowserLike(gateway.adminUrl);
  t.is((await browser.ask('GET', '/session')).body.person, null);
  t.is((await browser.ask('GET', '/workspaces')).status, 401);
  const { status, headers, body } = await browser.ask('POST', '/session', { token: gateway.adminToken });
  t.is(status, 201);
  t.deepEqual(body.person.grants, [{ role: 'admin', workspaces: null }]);
  const [cookie = ''] = headers.getSetCookie();
  t.regex(cookie, /; path=\/;/i);
  t.regex(cookie, /; httponly/i);
  t.regex(cookie, /; samesite=strict/i);
  t.notRegex(cookie, /domain=/i);
  t.is((await browser.ask('GET', '/workspaces')).status, 200);
  t.is((await browser.ask('GET', '/session')).body.person.name, 'root token');
  const secret = browser.cookies.get(COOKIE) ?? '';
  t.false(JSON.stringify(await stored()).includes(secret), 'Redis has a digest only');
  t.false(JSON.stringify(await stored()).includes(gateway.adminToken));
});

test.serial('a page of another site can neither change anything nor sign anybody in', async (t) => {
  const browser = await signIn();
  const from: Record<string, Record<string, string | undefined>> = {
    'a form of another site': { 'x-sluice-console': undefined, 'sec-fetch-site': 'cross-site' },
    'another port of this host': { 'sec-fetch-site': 'same-site' },
    'an old browser without the header': { 'x-sluice-console': undefined, 'sec-fetch-site': undefined },
  };
  for (const [who, headers] of Object.entries(from)) {
    for (const [method, path, body] of [
      ['POST', '/workspaces', { id: 'stolen' }],
      ['DELETE', '/workspaces/demo', undefined],
      ['POST', '/sign-in-links', undefined],
      ['POST', '/session', { token: gateway.adminToken }],
      ['DELETE', '/session', undefined],
    ] as const)
      t.is((await browser.ask(method, path, body, headers)).status, 403, `${who}: ${method} ${path}`);
    t.is((await browser.ask('GET', '/workspaces', undefined, headers)).status, 200, `${who} may be a link`);
  }
  const preflight = await fetch(`${gateway.adminUrl}/workspaces`, {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-headers': 'x-sluice-console' },
  });
  t.is(preflight.headers.get('access-control-allow-origin'), null);
  t.is((await browser.ask('POST', '/workspaces', { id: 'own' })).status, 201);
});

test.serial('a sign-in gives a new session, and the one before is over', async (t) => {
  const browser = new BrowserLike(gateway.adminUrl);
  const planted = 'x'.repeat(43);
  browser.cookies.set(COOKIE, planted);
  await browser.ask('POST', '/session', { token: gateway.adminToken });
  const first = browser.cookies.get(COOKIE) ?? '';
  t.not(first, planted);
  await browser.ask('POST', '/session', { token: gateway.adminToken });
  t.not(browser.cookies.get(COOKIE), first);
  const before = new BrowserLike(gateway.adminUrl);
  before.cookies.set(COOKIE, first);
  t.is((await before.ask('GET', '/workspaces')).status, 401);
  await browser.ask('DELETE', '/session');
  t.is(browser.cookies.size, 0);
});

test.serial('a session that was signed out is over for every copy of its cookie', async (t) => {
  const browser = await signIn();
  const copy = new BrowserLike(gateway.adminUrl);
  copy.cookies.set(COOKIE, browser.cookies.get(COOKIE) ?? '');
  t.is((await copy.ask('GET', '/workspaces')).status, 200);
  await browser.ask('DELETE', '/session');
  t.is((await copy.ask('GET', '/workspaces')).status, 401);
});

test.serial('a sign-in link works once, whoever comes first', async (t) => {
  const link = await makeLink();
  const keys = await gateway.redis.keys(gateway.names.signInLink('*'));
  t.is(keys.length, 1);
  t.false(keys.join().includes(link));
  t.true((await gateway.redis.pttl(keys[0] ?? '')) <= 600_000);
  const browsers = Array.from({ length: 5 }, () => new BrowserLike(gateway.adminUrl));
  const visits = await Promise.all(browsers.map((browser) => browser.ask('POST', '/session', { link })));
  t.deepEqual(visits.map(({ status }) => status).sort(), [201, 401, 401, 401, 401]);
  const winner = browsers[visits.findIndex(({ status }) => status === 201)];
  t.is((await winner?.ask('GET', '/workspaces'))?.status, 200);
  for (const wrong of ['x', 'x'.repeat(43), '../sessions', ''])
    t.true([400, 401].includes((await winner?.ask('POST', '/session', { link: wrong }))?.status ?? 0));
  t.is((await winner?.ask('POST', '/session', {}))?.status, 400);
  t.is((await winner?.ask('POST', '/session', { link, token: 'both' }))?.status, 400);
});

test.serial('a session ends when it is not used, and when it is old', async (t) => {
  const age = async (change: Record<string, number>) => {
    const browser = await signIn();
    for (const [digest, text] of Object.entries(await stored())) {
      const session = JSON.parse(text);
      for (const [field, ms] of Object.entries(change)) session[field] -= ms;
      await gateway.redis.hset(gateway.names.sessions, digest, JSON.stringify(session));
    }
    return (await browser.ask('GET', '/workspaces')).status;
  };
  t.is(await age({ seen: IDLE_MS - 60_000 }), 200);
  t.is(await age({ seen: IDLE_MS }), 401);
  t.is(await age({ expires: SESSION_MS - 60_000 }), 200);
  t.is(await age({ expires: SESSION_MS }), 401);
  await signIn();
  t.is(Object.keys(await stored()).length, 1, 'those that are over are taken away at the next sign-in');
});

test.serial('a sign-out is not undone by a request that was under way', async (t) => {
  const browser = await signIn();
  const digest = digestOf(browser.cookies.get(COOKIE) ?? '');
  const text = (await stored())[digest] ?? '';
  const old = JSON.stringify({ ...JSON.parse(text), seen: JSON.parse(text).seen - 120_000 });
  await gateway.redis.hset(gateway.names.sessions, digest, old);
  await Promise.all([
    ...Array.from({ length: 20 }, () => browser.ask('GET', '/status')),
    browser.ask('DELETE', '/session'),
  ]);
  t.is((await stored())[digest], undefined);
});

test.serial('the queues are shown as BullMQ sees them, without prompts, and cannot be touched', async (t) => {
  const visitor = new BrowserLike(gateway.adminUrl);
  t.is((await visitor.ask('GET', '/queues')).status, 401);
  t.is((await visitor.ask('GET', '/queues/static/favicon.ico')).status, 401);
  const sent = await visitor.ask('GET', '/queues', undefined, { 'sec-fetch-dest': 'document' });
  t.deepEqual([sent.status, sent.headers.get('location')], [303, '/']);

  const browser = await signIn();
  const page = await browser.ask('GET', '/queues');
  t.is(page.status, 200);
  t.regex(page.headers.get('content-security-policy') ?? '', /default-src 'none'; script-src 'self';/);
  t.notRegex(page.body, /https:/, 'nothing from another host');
  const script = /src="(static\/js\/[^"]+)"/.exec(page.body)?.[1] ?? '';
  t.is((await browser.ask('GET', `/queues/${script}`)).status, 200);

  t.is((await admin('POST', '/queues/openai/pause')).status, 200);
  const messages = [{ role: 'user', content: PROMPT }];
  const answer = gateway.chat({ model: 'gpt-4o-mini', messages });
  await until('the job', async () => (await gateway.backlog('openai')) === 1);
  const list = await browser.ask('GET', '/queues/api/queues?activeQueue=openai&status=latest&jobsPerPage=10');
  t.is(list.status, 200);
  // biome-ignore lint/suspicious/noExplicitAny: bull-board's own shape
  const queue = list.body.queues.find(({ name }: any) => name === 'openai');
  t.true(queue.isPaused);
  t.true(queue.readOnlyMode);
  t.is(queue.counts.waiting + queue.counts.prioritized, 1);
  const [job] = queue.jobs;
  t.is(job.data.workspace, 'demo');
  t.deepEqual(job.data.entry, { provider: 'openai', model: 'gpt-4o-mini' });
  t.is(job.returnValue, null);
  t.true(Math.abs(job.timestamp - Date.now()) < 600_000);
  const one = await browser.ask('GET', `/queues/api/queues/openai/${job.id}`);
  t.is(one.status, 200);
  for (const { body } of [list, one]) {
    t.false(JSON.stringify(body).includes(PROMPT));
    t.false(JSON.stringify(body).includes('"inbox"'));
  }
  for (const [method, path] of [
    ['PUT', '/queues/api/queues/openai/resume'],
    ['PUT', `/queues/api/queues/openai/${job.id}/clean`],
    ['PUT', '/queues/api/queues/openai/obliterate'],
    ['POST', '/queues/api/queues/openai/add'],
  ] as const)
    t.is((await browser.ask(method, path, method === 'POST' ? {} : undefined)).status, 404, path);
  t.is(await gateway.backlog('openai'), 1);
  await admin('POST', '/queues/openai/resume');
  t.is((await answer).status, 200);
});

test.serial('a session survives a restart of the api, and ends with the admin token', async (t) => {
  const browser = await signIn();
  const link = await makeLink();
  const port = new URL(gateway.adminUrl).port;
  await gateway.apis.at(-1)?.end();
  await gateway.addApi({ ADMIN_TOKEN: gateway.adminToken, ADMIN_PORT: port });
  t.is((await browser.ask('GET', '/workspaces')).status, 200);
  await gateway.apis.at(-1)?.end();
  await gateway.addApi({ ADMIN_TOKEN: 'another-admin-token', ADMIN_PORT: port });
  t.is((await browser.ask('GET', '/workspaces')).status, 401);
  t.is((await browser.ask('GET', '/session')).body.person, null);
  t.is((await browser.ask('POST', '/session', { link })).status, 401);
});
