/** The console in trouble: hostile texts, a token that is no longer good, a gateway that goes away; and for all who use it. */
import { REDIS } from '@sluice/cli/start/find-redis';
import type { Browser, Page } from 'playwright-core';
import { adminOf } from '../helpers/admin.js';
import { launchBrowser } from '../helpers/browser.js';
import { audit, isAt, load, openConsole, openPage, waitForNoDialog } from '../helpers/console.js';
import { type Gateway, startProcesses, startRealGateway } from '../helpers/gateway.js';
import { testNeeding } from '../helpers/test-needing.js';
import { CHROMIUM } from '../helpers/tools.js';
import { until } from '../helpers/until.js';

const test = testNeeding(REDIS, CHROMIUM);

/** Without spaces, so that it can be a model's id too. */
const HOSTILE = '"><img/src=x/onerror=window.hacked=1><script>window.hacked=1</script>';
/** As long as a name may be. */
const LONG = 'a-long-name-'.repeat(6).slice(0, 62);
const AWAY = /ERR_CONNECTION|Failed to load resource/;

let gateway: Gateway;
let browser: Browser;

test.before(async () => {
  [gateway, browser] = await Promise.all([
    startProcesses({ workspaces: { thrifty: { limits: { budget_usd_per_month: 1 } } } }),
    launchBrowser(),
  ]);
  const admin = adminOf(gateway);
  await admin('PUT', '/workspaces/demo/routes/odd', [{ provider: 'openai', model: HOSTILE }]);
  await admin('PUT', `/models/openai/${encodeURIComponent(HOSTILE)}`, {
    prices: { input: 1, output: 1 },
    capabilities: [HOSTILE],
  });
  await admin('POST', '/workspaces/demo/keys', { name: `=1+1 ${HOSTILE}` });
  await admin('PUT', `/providers/${LONG}`, {
    kind: 'openai',
    base_url: `https://${LONG}.example.com/v1`,
    limits: { requests_per_minute: 10 },
  });
  gateway.simulator.script({
    match: { model: HOSTILE },
    action: { status: 400, body: { error: { message: HOSTILE, type: 'invalid_request_error', code: null } } },
  });
  for (const model of ['odd', 'fast', `gpt-${HOSTILE}`])
    await gateway.chat({ model, messages: [{ role: 'user', content: HOSTILE }] });
});
test.after.always(async () => {
  await browser?.close();
  await gateway?.stop();
});

async function go(page: Page, name: string): Promise<void> {
  const link = page
    .getByRole('navigation', { name: 'Pages', exact: true })
    .getByRole('link', { name, exact: true });
  await link.click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}

/** The names of all pages, as the console itself lists them for an admin. */
async function pagesOf(page: Page): Promise<string[]> {
  const links = page.getByRole('navigation', { name: 'Pages', exact: true }).getByRole('link');
  await links.first().waitFor();
  return links.allInnerTexts();
}

test.serial('hostile names and messages are shown as text and run nothing', async (t) => {
  const page = await openConsole(t, browser, gateway, '/models', { expected: /400|404/ });
  const shown = page.getByText(HOSTILE).locator('visible=true').first();
  await page.getByRole('searchbox', { name: 'Search' }).fill('onerror');
  await shown.waitFor();
  await page.getByRole('button', { name: /^Edit price of/ }).click();
  await page.getByRole('heading', { name: `Price of ${HOSTILE}` }).waitFor();
  await page.keyboard.press('Escape');
  await waitForNoDialog(page);
  for (const name of ['Routes', 'Requests', 'Keys']) {
    await go(page, name);
    await shown.waitFor();
  }
  await go(page, 'Playground');
  await page.getByLabel('Route or model').fill('odd');
  await page.getByLabel('Message').fill('x');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('alert').getByText(HOSTILE).waitFor();
  await page.goto(
    `${gateway.adminUrl}/#/requests/${encodeURIComponent(HOSTILE)}?model=${encodeURIComponent(HOSTILE)}`,
  );
  await page.getByText('The log has no request with this id.').waitFor();
  t.is(await page.evaluate('window.hacked'), undefined);
  t.is(await page.locator('img[src="x"]').count(), 0);
});

test.serial('axe finds nothing serious on any page, light or dark', async (t) => {
  for (const dark of [false, true]) {
    const page = await openPage(t, browser, gateway.adminUrl, { dark });
    await page.getByLabel('Admin token').waitFor();
    // Only colours differ between the themes.
    const rules = dark ? ['color-contrast'] : undefined;
    t.deepEqual(await audit(page, rules), [], `sign in, ${dark}`);
    await page.getByLabel('Admin token').fill(gateway.adminToken);
    await page.keyboard.press('Enter');
    const names = await pagesOf(page);
    t.true(['Providers', 'Webhooks', 'Audit'].every((name) => names.includes(name)));
    for (const name of names) {
      await go(page, name);
      // Rows are all alike, and axe takes its time for each.
      if (name === 'Models') await page.getByRole('searchbox', { name: 'Search' }).fill('o4-mini');
      t.deepEqual(await audit(page, rules), [], `${name}, ${dark ? 'dark' : 'light'}`);
    }
  }
});

test.serial('axe finds nothing serious in the dialogs', async (t) => {
  const page = await openConsole(t, browser, gateway, '/live');
  const check = async (name: string, button: RegExp) => {
    await go(page, name);
    await page.getByRole('button', { name: button }).first().click();
    await page.getByRole('dialog').waitFor();
    t.deepEqual(await audit(page), [], `${button}`);
    await page.keyboard.press('Escape');
    await waitForNoDialog(page);
  };
  await check('Models', /^Edit price/);
  await check('Routes', /^Edit /);
  await check('Routes', /^Delete /);
  await check('Workspaces', /^Create/);
  await check('Keys', /^Issue/);
  await check('Keys', /^Revoke /);
  await check('Providers', /^Add a provider/);
  await check('Providers', /^Remove a-long-name/);
  await check('Webhooks', /^Add a webhook/);
  await check('Alerts', /^Add an alert/);
  await check('Access', /^Create a token/);
  await go(page, 'Requests');
  await page
    .getByRole('link', { name: /^Request req_/ })
    .first()
    .click();
  await page.getByRole('dialog').getByText('Settled', { exact: true }).waitFor();
  t.deepEqual(await audit(page), [], 'request');
});

test.serial('every page fits a phone, and the choice of a theme is kept', async (t) => {
  const page = await openConsole(t, browser, gateway, '/live', { width: 380 });
  for (const name of await pagesOf(page)) {
    await go(page, name);
    t.true(Number(await page.evaluate('document.documentElement.scrollWidth')) <= 380, name);
    if (name === 'Requests')
      t.true(
        Number(
          await page
            .locator('tbody tr', { hasText: 'gpt-4o-mini' })
            .first()
            .evaluate((row) => row.clientHeight),
        ) < 120,
        'a card',
      );
  }
  t.deepEqual(await audit(page), [], 'on a phone');
  const ground = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
  const light = await ground();
  await page.getByLabel('Theme').selectOption('dark');
  const dark = await until('the dark ground', async () => {
    const now = await ground();
    return now !== light && now;
  });
  await load(page);
  await page.getByLabel('Theme').waitFor();
  t.is(await ground(), dark);
});

test.serial('it is used with the keyboard alone', async (t) => {
  const page = await openPage(t, browser, `${gateway.adminUrl}/#/keys`);
  await page.locator('#token:focus').waitFor();
  await page.keyboard.type(gateway.adminToken);
  await page.keyboard.press('Enter');
  // A disabled button, as this one is until the workspaces are known, is passed over by Tab.
  await page.getByRole('button', { name: 'Issue a key', disabled: false }).waitFor();
  await page.keyboard.press('Tab');
  t.is(await page.evaluate('document.activeElement.textContent'), 'Skip to the page');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  for (let i = 0; i < 12; i++) {
    await page.keyboard.press('Tab');
    t.true(
      await page.evaluate(
        'document.activeElement === document.body || document.activeElement.closest("dialog") !== null',
      ),
      'the focus stays in the dialog',
    );
  }
  await page.keyboard.press('Escape');
  await waitForNoDialog(page);
  t.is(await page.evaluate('document.activeElement.textContent'), 'Issue a key');
});

test.serial('a gateway that is gone is told of, and one that is back is noticed', async (t) => {
  const page = await openConsole(t, browser, gateway, '/live', { expected: AWAY });
  const role = page.locator('tbody [data-label="Role"]');
  await until('both processes', async () => (await role.count()) === 2);
  const port = new URL(gateway.adminUrl).port;
  // One that ends in peace answers to the last, also with a list that has itself no more.
  await gateway.apis[0]?.end('SIGKILL');
  await page.getByText(/Lost contact with the gateway at \d\d:\d\d:\d\d/).waitFor();
  t.is(await role.count(), 2, 'what was known is still shown');
  await gateway.addApi({ ADMIN_TOKEN: gateway.adminToken, ADMIN_PORT: port });
  await page.getByText('Lost contact').waitFor({ state: 'detached' });
  t.true((await page.getByText(/updates by itself/).count()) > 0);
});

test.serial(
  'what a lost gateway leaves open is said, the form stays, and one click is one key',
  async (t) => {
    const page = await openConsole(t, browser, gateway, '/keys', { expected: AWAY });
    await page.getByRole('button', { name: 'Issue a key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('twice');
    await page.route('**/keys', (route) => route.abort());
    await dialog.getByRole('button', { name: 'Issue the key' }).click();
    await dialog.getByRole('alert').getByText('may or may not have been done').waitFor();
    await page.unroute('**/keys');
    // Both before the page is drawn anew.
    await page.evaluate('for (const _ of [1, 2]) document.querySelector("dialog .primary").click()');
    await dialog.locator('.secret').waitFor();
    const { body } = await adminOf(gateway)('GET', '/directory');
    t.is(body.keys.filter(({ name }: { name: string }) => name === 'twice').length, 1);
  },
);

test.serial('an editor is told when somebody else has changed the route', async (t) => {
  const admin = adminOf(gateway);
  await admin('PUT', '/workspaces/demo/routes/shared', [{ provider: 'openai', model: 'gpt-4o' }]);
  const page = await openConsole(t, browser, gateway, '/routes?search=shared');
  await page.getByRole('button', { name: 'Edit shared' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Model').fill('gpt-4o-mini');
  t.is(await dialog.getByText('Somebody has').count(), 0);
  await admin('PUT', '/workspaces/demo/routes/shared', [{ provider: 'openai', model: 'gpt-4.1' }]);
  await dialog.getByText('Somebody has changed this route').waitFor();
  t.is(await dialog.getByLabel('Model').inputValue(), 'gpt-4o-mini');
});

test.serial('of two people who change one provider at once, neither undoes what the other did', async (t) => {
  const admin = adminOf(gateway);
  const provider = { kind: 'openai', base_url: gateway.simulator.openaiBaseUrl };
  const stored = async () => {
    const { body } = await admin('GET', '/providers');
    return body.data.find(({ name }: { name: string }) => name === 'both').settings;
  };
  const keys = [{ name: 'first', api_key: 'sk-first' }];
  await admin('PUT', '/providers/both', { ...provider, keys });
  const page = await openConsole(t, browser, gateway, '/providers');
  const card = page.getByRole('article', { name: 'Provider both' });
  const dialog = page.getByRole('dialog');
  await card.getByRole('button', { name: 'Change both' }).click();
  await dialog.getByLabel('Calls at a time').fill('3');
  await admin('PUT', '/providers/both', { ...provider, limits: { requests_per_minute: 77 } });
  await card.getByText('77 requests').waitFor();
  // The page learns nothing of the second key.
  const seen = (await admin('GET', '/providers')).body;
  await page.route(/\/providers$/, (route) => route.fulfill({ json: seen }));
  await admin('PUT', '/providers/both/keys/second', { api_key: 'sk-second' });
  await dialog.getByRole('button', { name: 'Save the provider' }).click();
  await waitForNoDialog(page);
  t.deepEqual(await stored(), {
    ...provider,
    ...{ concurrency: 3, limits: { requests_per_minute: 77 } },
    keys: [{ name: 'first' }, { name: 'second' }],
  });

  await page.unroute(/\/providers$/);
  await card.getByRole('button', { name: 'Change key second of both' }).click();
  await dialog.getByLabel('Requests a minute').fill('500');
  await admin('PUT', '/providers/both/keys/second', { weight: 2 });
  await dialog.getByRole('button', { name: 'Save the key' }).click();
  await waitForNoDialog(page);
  t.deepEqual((await stored()).keys[1], {
    ...{ name: 'second', weight: 2 },
    limits: { requests_per_minute: 500 },
  });
  await admin('DELETE', '/providers/both');
});

test.serial(
  'of two people who change one workspace at once, neither undoes what the other did',
  async (t) => {
    const admin = adminOf(gateway);
    const page = await openConsole(t, browser, gateway, '/workspaces/thrifty');
    await page.getByRole('button', { name: 'Change name and models' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Thrifty people');
    await admin('PATCH', '/workspaces/thrifty', { models: ['fast'] });
    await dialog.getByRole('button', { name: 'Save the workspace' }).click();
    await waitForNoDialog(page);
    const { body } = await admin('GET', '/workspaces/thrifty');
    t.like(body, { name: 'Thrifty people', models: ['fast'] });
    await admin('PATCH', '/workspaces/thrifty', { models: null });
  },
);

test.serial('of many workspaces one is found by typing, and a closed request stays closed', async (t) => {
  const admin = adminOf(gateway);
  for (let i = 0; i < 210; i++) await admin('POST', '/workspaces', { id: `many-${i}` });
  const page = await openConsole(t, browser, gateway, '/requests');
  await page.getByRole('table').waitFor();
  const field = page.getByRole('combobox', { name: 'Workspace' });
  await page.locator('input[list]').first().waitFor();
  await field.fill('nobody');
  await page.getByText('There is none with this name').waitFor();
  await field.fill('many-7');
  await isAt(t, page, '#/requests?workspace=many-7');
  await page.getByText('No request matches these filters.').waitFor();
  await field.fill('');
  await page
    .getByRole('link', { name: /^Request req_/ })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await waitForNoDialog(page);
  await isAt(t, page, '#/requests');
  await page.goForward();
  await dialog.waitFor();
  await page.goBack();
  await waitForNoDialog(page);
  await isAt(t, page, '#/requests');
});

test.serial('a Redis that is away is told of as such, and one that is back is noticed', async (t) => {
  // With the product's own patience: the others would wait for minutes until they say so.
  const real = await startRealGateway();
  t.teardown(() => real.stop());
  const page = await openConsole(t, browser, real, '/live', { expected: AWAY });
  await page.locator('tbody [data-label="Role"]').first().waitFor();
  const port = Number(new URL(real.redisServer.url).port);
  await real.redisServer.stop();
  await page.getByText('The gateway lost contact with its Redis').waitFor();
  await real.restartRedis(port);
  await page.getByText('lost contact').waitFor({ state: 'detached' });
  t.true((await page.getByText(/updates by itself/).count()) > 0);
});

test.serial('a token that is no longer accepted leads back to the sign-in, with the reason', async (t) => {
  const page = await openConsole(t, browser, gateway, '/requests', { expected: AWAY });
  await page.getByRole('table').waitFor();
  const port = new URL(gateway.adminUrl).port;
  await gateway.apis.at(-1)?.end();
  await gateway.addApi({ ADMIN_TOKEN: 'another-admin-token', ADMIN_PORT: port });
  await page.getByText('Your session has ended.').waitFor();
  await page.getByLabel('Admin token').fill('another-admin-token');
  await page.keyboard.press('Enter');
  await page.getByRole('table').waitFor();
  // Where one was, there one is again.
  await isAt(t, page, '#/requests');
});
