/** The page that sets an invoice beside the ledger: who may compare, what it shows, and what stays. */
import { REDIS } from '@sluice/cli/start/find-redis';
import type { Browser } from 'playwright-core';
import { adminOf } from '../helpers/admin.js';
import { launchBrowser } from '../helpers/browser.js';
import { audit, load, openConsole, openPage, signIn } from '../helpers/console.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import { testNeeding } from '../helpers/test-needing.js';
import { CHROMIUM } from '../helpers/tools.js';

const test = testNeeding(REDIS, CHROMIUM);
const COSTS = [
  'start_time_iso,amount_value,amount_currency,line_item,quantity',
  '2026-02-01T00:00:00+00:00,2.50,usd,"gpt-4o-2024-08-06, input",1000000',
  '2026-02-02T00:00:00+00:00,,,,',
].join('\n');

let gateway: Gateway;
let browser: Browser;
test.before(async () => {
  [gateway, browser] = await Promise.all([startGateway(), launchBrowser()]);
});
test.after.always(async () => {
  await browser?.close();
  await gateway?.stop();
});

test.serial('an admin compares a file, settles it once, and finds the result again', async (t) => {
  const page = await openConsole(t, browser, gateway, '/invoices');
  await page.getByText('Nothing has been compared yet.').waitFor();
  const form = page.getByRole('form', { name: 'Compare with an invoice' });
  await form.getByRole('button', { name: 'Compare' }).click();
  await page.getByText('Choose the file that the provider exports.').waitFor();
  await form.getByLabel('Provider', { exact: true }).selectOption('openai');
  await form.getByLabel('Month').fill('2026-02');
  const file = { name: 'costs.csv', mimeType: 'text/csv', buffer: Buffer.from(COSTS) };
  await form.getByLabel('The provider’s costs').setInputFiles(file);
  await form.getByLabel('Make adjustments').check();
  await form.getByRole('button', { name: 'Compare and settle' }).click();
  const row = page.getByRole('row', { name: /2026-02-01/ });
  await row.getByText('theirs only').waitFor();
  await row.getByText('2.500000: Traffic beside the gateway, or of another one.').waitFor();
  await page.getByText('1 adjustment of 2.500000 USD made.').waitFor();
  t.deepEqual(await audit(page), []);

  await form.getByRole('button', { name: 'Compare and settle' }).click();
  await page.getByText('Both sides agree.').waitFor();
  const { body } = await adminOf(gateway)('GET', '/spend?month=2026-02');
  t.is(body.total.adjusted_usd, '2.500000');
  await load(page, `${gateway.adminUrl}/#/invoices`);
  await page.getByRole('link', { name: 'openai 2026-02' }).waitFor();
});

test.serial('a viewer sees the result, and no form', async (t) => {
  const token = { name: 'looks', role: 'viewer', workspaces: null };
  const { body } = await adminOf(gateway)('POST', '/tokens', token);
  const page = await openPage(t, browser, `${gateway.adminUrl}/#/invoices/openai/2026-02`, {
    expected: /401/,
  });
  await signIn(page, body.value);
  await page.getByRole('heading', { name: /openai 2026-02/ }).waitFor();
  t.is(await page.getByRole('form', { name: 'Compare with an invoice' }).count(), 0);
});
