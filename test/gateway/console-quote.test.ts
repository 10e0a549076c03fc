/** The page of batches says what a file would cost, to those who may know. */
import { REDIS } from '@sluice/cli/start/find-redis';
import type { Browser } from 'playwright-core';
import { line, toJsonl } from '../helpers/batches.js';
import { launchBrowser } from '../helpers/browser.js';
import { audit, openConsole } from '../helpers/console.js';
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

test('an operator asks what a file would cost', async (t) => {
  const page = await openConsole(t, browser, gateway, '/batches');
  await page.getByText('What would a file cost?').click();
  const form = page.getByRole('form', { name: 'Quote a batch' });
  const text = toJsonl([line('a', 'hi'), line('b', 'hi', 'nobody')]);
  const file = { name: 'lines.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(text) };
  await form.getByLabel('File of requests').setInputFiles(file);
  await page.getByText(/^2 lines, \d+ tokens in, about/).waitFor();
  await page.getByRole('row', { name: /24h/ }).waitFor();
  await page.getByText(/^model_not_found: /).waitFor();
  t.deepEqual(await audit(page), []);
  t.is(gateway.simulator.calls.length, 0);
});
