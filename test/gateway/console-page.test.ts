/** The console, in short: it loads, it lets in whom it should, and it shows a page. The rest is in console.test.ts. */
import { REDIS } from '@sluice/cli/start/find-redis';
import type { Browser } from 'playwright-core';
import { adminOf } from '../helpers/admin.js';
import { launchBrowser } from '../helpers/browser.js';
import { load, openPage, signIn } from '../helpers/console.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import { testNeeding } from '../helpers/test-needing.js';
import { CHROMIUM } from '../helpers/tools.js';

const test = testNeeding(REDIS, CHROMIUM);

let gateway: Gateway;
let browser: Browser;

test.before(async () => {
  [gateway, browser] = await Promise.all([startGateway(), launchBrowser()]);
});
test.after.always(async () => {
  await browser?.close();
  await gateway?.stop();
});

test.serial('the shell and its files need no token, and allow nothing from elsewhere', async (t) => {
  const shell = await fetch(gateway.adminUrl);
  t.is(shell.status, 200);
  t.is(
    shell.headers.get('content-security-policy'),
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
      "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  );
  t.is(shell.headers.get('x-content-type-options'), 'nosniff');
  t.is(shell.headers.get('referrer-policy'), 'no-referrer');
  const html = await shell.text();
  t.false(
    /<script(?![^>]* src=)|<style|\son\w+=|https?:/.test(html),
    'nothing inline, nothing from another host',
  );
  const paths = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? '');
  t.true(paths.length > 10);
  for (const path of paths) {
    const file = await fetch(gateway.adminUrl + path);
    t.is(file.status, 200, path);
    t.false(
      /from\s*["'](?![./])|https?:\/\/(?!www\.w3\.org)/.test(path.includes('/lib/') ? '' : await file.text()),
      path,
    );
  }
  const etag = shell.headers.get('etag') ?? '';
  t.is(
    (await fetch(gateway.adminUrl, { headers: { 'if-none-match': etag, 'cache-control': 'max-age=0' } }))
      .status,
    304,
  );
  t.is((await fetch(`${gateway.adminUrl}/console/../package.json`)).status, 401);
  t.is((await fetch(`${gateway.adminUrl}/console/none.js`)).status, 401);
  const data = await adminOf(gateway)('GET', '/status');
  t.is(data.headers.get('cache-control'), 'no-store');
});

test.serial('a wrong token is refused in words; the right one is exchanged for a session', async (t) => {
  const page = await openPage(t, browser, `${gateway.adminUrl}/#/models`, { expected: /401/ });
  await page.getByLabel('Admin token').fill('not-the-token-at-all');
  await page.keyboard.press('Enter');
  await page.getByText('This is not the admin token of this gateway.').waitFor();
  await page.getByLabel('Admin token').fill('');
  await signIn(page, gateway.adminToken);
  await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor();

  const kept = await page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state])',
  );
  t.false(kept.includes(gateway.adminToken));
  t.false(kept.includes('session'), 'no script sees the cookie');
  await load(page);
  await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Admin token').waitFor();
  t.is(await page.getByRole('navigation').count(), 0);
  await load(page);
  await page.getByLabel('Admin token').waitFor();
});
