/** The console for people who are quicker than it is, and on a machine that stops. */
import { REDIS } from '@sluice/cli/start/find-redis';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../helpers/browser.js';
import { load, openConsole, openPage, signIn, waitForNoDialog } from '../helpers/console.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import { testNeeding } from '../helpers/test-needing.js';
import { CHROMIUM } from '../helpers/tools.js';
import { until } from '../helpers/until.js';

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

/** Acts in the moment in which something comes into the page, before the browser has shown it. */
const HASTE = `
  globalThis.haste = {};
  new MutationObserver(() => {
    const field = document.querySelector('#token');
    if (field) haste.hasFocus ??= document.activeElement === field;
    const link = document.querySelector('nav a[href="#/keys"]');
    if (link && !haste.clicked) {
      haste.clicked = true;
      link.click();
    }
    const dialog = document.querySelector('dialog');
    if (dialog) haste.isOpen ??= dialog.open;
  }).observe(document, { subtree: true, childList: true });
`;

test.serial('no click and no letter is lost that comes as soon as something is drawn', async (t) => {
  const page = await openPage(t, browser, `${gateway.adminUrl}/#/live`);
  await page.addInitScript(HASTE);
  await load(page);
  await page.getByLabel('Admin token').waitFor();
  t.true(await page.evaluate('haste.hasFocus'), 'letters go to the field');
  await signIn(page, gateway.adminToken);
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
  await page.getByRole('button', { name: 'Issue a key' }).click();
  await page.getByRole('dialog').waitFor();
  t.true(await page.evaluate('haste.isOpen'), 'letters go to the dialog');
});

test.serial('whoever edits a route again at once gets what they have just saved', async (t) => {
  const page = await openConsole(t, browser, gateway, '/routes');
  const dialog = page.getByRole('dialog');
  const edit = page.getByRole('button', { name: 'Edit fast' });
  await edit.click();
  await dialog.getByLabel('Retries').first().fill('4');
  let answer = () => {};
  const answering = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route(/\/directory/, async (route) => {
    await answering;
    await route.continue();
  });
  await dialog.getByRole('button', { name: 'Save route' }).click();
  await waitForNoDialog(page);
  await edit.click();
  await dialog.waitFor();
  answer();
  await until(
    'what was saved',
    async () => (await dialog.getByLabel('Retries').first().inputValue()) === '4',
  );
  t.is(await dialog.getByText('Somebody has').count(), 0);
  await page.unrouteAll({ behavior: 'wait' });
});

test.serial('a route can be made as soon as the button for it is there', async (t) => {
  const page = await openPage(t, browser, `${gateway.adminUrl}/#/routes`);
  let answer = () => {};
  const answering = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route(/\/status$/, async (route) => {
    await answering;
    await route.continue();
  });
  await signIn(page, gateway.adminToken);
  await page.getByRole('article', { name: 'Route fast of demo' }).waitFor();
  t.is(await page.getByRole('button', { name: 'New route' }).count(), 0);
  await page.getByText('Loading …').waitFor();
  answer();
  await page.getByRole('button', { name: 'New route' }).click();
  await page.getByRole('dialog', { name: 'New route' }).waitFor();
  await page.unrouteAll({ behavior: 'wait' });
});

test.serial('a page that stood still for an hour in mid-reading reads again within minutes', async (t) => {
  const page = await openConsole(t, browser, gateway, '/requests');
  await page.clock.install();
  await load(page);
  const readings: string[] = [];
  await page.route(/\/requests\?/, async (route) => {
    if (readings.push(route.request().url()) === 1) await page.clock.fastForward('01:00:00');
    await route.continue();
  });
  await until('the slow reading', () => readings.length > 0);
  // A minute at a time, because the page begins to rest when it has read the answer.
  for (let minutes = 0; minutes < 10 && readings.length < 2; minutes++) {
    await page.clock.fastForward(60_000);
    await until('another reading', () => readings.length > 1, 2_000).catch(() => {});
  }
  // A browser that the machine has stopped meanwhile comes to it later. No more than these minutes pass for the page but for
  // those that pass for the test.
  await until('another reading', () => readings.length > 1);
  t.pass();
  await page.unrouteAll({ behavior: 'wait' });
});

test.serial('a place in one list of requests is not taken into another', async (t) => {
  const page = await openConsole(t, browser, gateway, '/requests');
  const asked: URLSearchParams[] = [];
  await page.route(/\/requests\?/, async (route) => {
    asked.push(new URL(route.request().url()).searchParams);
    const response = await route.fetch();
    const more = { has_more: true, next_before: '1763220000000-0' };
    await route.fulfill({ response, json: { ...(await response.json()), ...more } });
  });
  await page.getByRole('button', { name: 'Older' }).click();
  await until('the older page', () => asked.some((query) => query.has('before')));
  // As by Back, or by a link.
  await page.goto(`${gateway.adminUrl}/#/requests?sort=cost`);
  await until('the other order', () => asked.some((query) => query.get('sort') === 'cost'));
  t.false(asked.some((query) => query.get('sort') === 'cost' && query.has('before')));
  await page.unrouteAll({ behavior: 'wait' });
});
