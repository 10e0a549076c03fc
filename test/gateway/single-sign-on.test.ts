/** People who sign in elsewhere: by OpenID Connect at a real provider, in a real browser, and at a proxy in front. */
import { request } from 'node:http';
import { REDIS } from '@sluice/cli/start/find-redis';
import type { Browser, Page } from 'playwright-core';
import { adminOf, type CallAdmin } from '../helpers/admin.js';
import { launchBrowser } from '../helpers/browser.js';
import { BrowserLike } from '../helpers/browser-like.js';
import { audit, isAt, load, openPage } from '../helpers/console.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  type OpenIdProvider,
  startOpenIdProvider,
} from '../helpers/openid-provider.js';
import { ownPort } from '../helpers/own-port.js';
import { testNeeding } from '../helpers/test-needing.js';
import { CHROMIUM } from '../helpers/tools.js';

const test = testNeeding(REDIS, CHROMIUM);

/** The provider's own page has pictures that are not on this machine. */
const PROVIDER_PAGE = /Failed to load resource/;
const PROXIED = { 'x-forwarded-email': 'pat@example.com', 'x-forwarded-groups': 'staff, team-a' };

let gateway: Gateway;
let provider: OpenIdProvider;
let browser: Browser;
let admin: CallAdmin;

test.before(async () => {
  const [adminPort, providerPort] = [await ownPort(), await ownPort()];
  const console = `http://127.0.0.1:${adminPort}`;
  const access = {
    console_url: console,
    oidc: {
      issuer: `http://localhost:${providerPort}`,
      client_id: CLIENT_ID,
      client_secret: '${OIDC_SECRET}',
      scopes: 'openid email groups',
      label: 'the test provider',
    },
    proxy: { addresses: ['127.0.0.1'] },
    add_providers: false,
    groups: {
      platform: { role: 'admin' },
      'team-a': { role: 'viewer', workspaces: ['team-a'] },
    },
  };
  const groups = { ada: ['platform', 'others'], tom: ['team-a'], eve: ['others'] };
  [provider, browser, gateway] = await Promise.all([
    startOpenIdProvider(providerPort, `${console}/sign-in/oidc/return`, groups),
    launchBrowser(),
    startGateway({
      workspaces: { 'team-a': {} },
      access,
      env: { OIDC_SECRET: CLIENT_SECRET, ADMIN_PORT: String(adminPort) },
    }),
  ]);
  admin = adminOf(gateway);
});
test.after.always(async () => {
  await browser?.close();
  provider?.close();
  await gateway?.stop();
});

async function signInAs(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name: 'Sign in with the test provider' }).click();
  await page.getByPlaceholder('Enter any login').fill(name);
  await page.getByPlaceholder('and password').fill('x');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

test.serial('somebody signs in at the provider, and is back where they were', async (t) => {
  const page = await openPage(t, browser, `${gateway.adminUrl}/#/keys`, { expected: PROVIDER_PAGE });
  await page.getByRole('link', { name: 'Sign in with the test provider' }).waitFor();
  t.deepEqual(await audit(page), []);
  await signInAs(page, 'ada');
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
  await isAt(t, page, '#/keys');
  await load(page);
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
  const [session] = (await page.context().cookies()).filter(({ name }) => name === 'sluice-session');
  t.deepEqual([session?.httpOnly, session?.sameSite], [true, 'Strict']);
  const me = await page.evaluate('fetch("/session").then((answer) => answer.json())');
  t.like(me, {
    person: { name: 'ada@example.com', way: 'oidc', grants: [{ role: 'admin', workspaces: null }] },
  });
  const { body } = await admin('GET', '/audit?kind=sign_ins&limit=1');
  t.like(body.data[0], { who: 'ada@example.com', via: 'oidc', action: 'sign in by oidc', status: 201 });
});

test.serial('groups decide: one sees only their workspace, another is not let in', async (t) => {
  const page = await openPage(t, browser, gateway.adminUrl, { expected: PROVIDER_PAGE });
  await signInAs(page, 'tom');
  await page.getByRole('heading', { name: 'Live', level: 1 }).waitFor();
  const ask = (path: string) => page.evaluate(`fetch("${path}").then((answer) => answer.json())`);
  t.like(await ask('/workspaces'), { data: [{ id: 'team-a' }] });
  t.like(await ask('/workspaces/demo'), { error: { code: 'not_found' } });

  const other = await openPage(t, browser, gateway.adminUrl, { expected: PROVIDER_PAGE });
  await signInAs(other, 'eve');
  await other.getByText('None of your groups has a role here.').waitFor();
  t.is(await other.getByRole('navigation').count(), 0);
  const { body } = await admin('GET', '/audit?kind=sign_ins&limit=1');
  t.like(body.data[0], { who: 'eve@example.com', status: 403 });
});

test.serial('a return that this browser did not begin, or that was changed, lets nobody in', async (t) => {
  const begin = async () => {
    const visitor = new BrowserLike(gateway.adminUrl);
    const { status, headers } = await visitor.ask('GET', '/sign-in/oidc');
    t.is(status, 303);
    return { visitor, to: new URL(headers.get('location') ?? '') };
  };
  const { visitor, to } = await begin();
  t.is(to.origin, provider.issuer);
  t.is(to.searchParams.get('code_challenge_method'), 'S256');
  t.truthy(to.searchParams.get('nonce'));
  const state = to.searchParams.get('state') ?? '';
  const stranger = new BrowserLike(gateway.adminUrl);
  for (const [who, query] of [
    [stranger, `code=x&state=${state}`],
    [visitor, 'code=x&state=another'],
    [(await begin()).visitor, `code=x&state=${state}`],
    [(await begin()).visitor, 'error=access_denied'],
    [(await begin()).visitor, ''],
  ] as const) {
    const answer = await who.ask('GET', `/sign-in/oidc/return?${query}&next=https://evil.example`);
    t.is(answer.headers.get('location'), '/#/sign-in-failed/failed');
    t.false(who.cookies.has('sluice-session'));
  }
  const again = await visitor.ask('GET', `/sign-in/oidc/return?code=x&state=${state}`);
  t.is(again.headers.get('location'), '/#/sign-in-failed/failed', 'a ticket is good for one return');
});

test.serial('a trusted proxy says who is there; its word for nobody else, and not twice', async (t) => {
  const visitor = new BrowserLike(gateway.adminUrl);
  t.is((await visitor.ask('GET', '/workspaces')).status, 401);
  const { body } = await visitor.ask('GET', '/workspaces', undefined, PROXIED);
  t.deepEqual(
    body.data.map(({ id }: { id: string }) => id),
    ['team-a'],
  );
  t.like((await visitor.ask('GET', '/session', undefined, PROXIED)).body.person, {
    name: 'pat@example.com',
    way: 'proxy',
  });
  const foreign = { ...PROXIED, 'x-sluice-console': undefined };
  t.is((await visitor.ask('POST', '/sign-in-links', undefined, foreign)).status, 403);
  const nobody = { ...PROXIED, 'x-forwarded-groups': 'others' };
  t.is((await visitor.ask('GET', '/workspaces', undefined, nobody)).status, 403);
  const named = { ...PROXIED, 'x-forwarded-groups': 'platform', 'x-forwarded-for': '203.0.113.7, 127.0.0.1' };
  t.is((await visitor.ask('POST', '/workspaces', { id: 'by-proxy' }, named)).status, 201);
  const { body: trail } = await admin('GET', '/audit?limit=1');
  t.like(trail.data[0], { who: 'pat@example.com', via: 'proxy', address: '203.0.113.7' });

  // From 127.0.0.2, which is no proxy of ours.
  const ask = (headers: Record<string, string | string[]>, localAddress: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = request(`${gateway.adminUrl}/workspaces`, { localAddress, headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on('error', reject).end();
    });
  t.is(await ask(PROXIED, '127.0.0.2'), 401);
  t.is(await ask(PROXIED, '127.0.0.1'), 200);
  const twice = { 'x-forwarded-email': ['pat@example.com', 'root@example.com'] };
  t.is(await ask({ ...PROXIED, ...twice }, '127.0.0.1'), 400);
});

test.serial('where gateway.yaml forbids it, nobody adds a provider', async (t) => {
  const { status, body } = await admin('PUT', '/providers/acme', { preset: 'ollama' });
  t.is(status, 403);
  t.regex(body.error.message, /access\.add_providers is false/);
  t.false((await admin('GET', '/providers')).body.can_add);
});
